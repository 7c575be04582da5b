"""`murmur bench` on a tiny random model, end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from murmur_cli.errors import ExitCode
from support.murmur_call import call_main
from support.tiny_folder import write_tiny_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_folder(tmp_path_factory.mktemp("tiny"))


def test_bench_when_run_then_every_policy_has_its_row_and_covering_budgets_decode_alike(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = call_main(
        capsys,
        "bench",
        folder,
        "--evict",
        "output,speech,both,align",
        "--evict-opt",
        "speech.window=20",
        "--evict-opt",
        "speech.delay=0",
        "--evict-opt",
        "speech.tail_sinks=0",
        "--evict-opt",
        "output.window=4",
        *("--batch-size", "2", "--steps", "24", "--rounds", "2", "--device", "cpu"),
        *("-o", tmp_path / "made"),
    )
    assert called.code == ExitCode.OK, called.err
    assert "covering = none" in called.out
    document = json.loads((tmp_path / "made" / "bench.json").read_text("utf-8"))
    (part,) = document["parts"]
    rows = {row["name"].split()[0]: row for row in part["rows"]}
    assert list(rows) == ["none", "output", "speech", "both", "align"]
    for row in rows.values():
        assert row["figures"]["covering_check"] == "equal"
        assert len(row["samples_s"]) == 2
        assert row["figures"]["arena_bytes"] > 0
        assert row["figures"]["peak_bytes"] > 0
    # 100 speech entries of two layers; the prompt of three tokens is always read.
    assert rows["none"]["figures"]["share_read"] == 1.0
    for name in ("output", "speech"):
        assert rows[name]["figures"]["share_read"] < 1.0
        own, full = rows[name]["figures"], rows["none"]["figures"]
        assert own["kv_bytes_per_token"] < full["kv_bytes_per_token"]
    assert rows["speech"]["options"]["speech_window"] == 20
    assert document["machine"]["threads"] >= 1
    assert (tmp_path / "made" / "bench.svg").is_file()
    text = (tmp_path / "made" / "bench.json").read_text("utf-8")
    assert str(tmp_path) not in text
    assert str(folder) not in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--steps", "1000"), "--steps 1000: give 2 to 60"),
        (("--steps", "1"), "--steps 1: give 2 or more"),
        (("--precision", "int4"), "--precision int4: known are float32, exact, fast"),
        (("-o", "/proc/nowhere"), "/proc/nowhere"),
        (("--rounds", "0"), "--rounds 0: give 1 or more"),
        (("--evict", "spech"), "did you mean speech?"),
        (("--evict-opt", "output.windw=3"), "did you mean window?"),
        (("--audio", "missing.wav"), "missing.wav"),
    ],
)
def test_bench_when_an_option_is_wrong_then_one_line(
    folder: Path,
    arguments: tuple[str, ...],
    message: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    called = call_main(capsys, "bench", folder, "--device", "cpu", *arguments)
    expected = ExitCode.NOTHING_PROCESSED if "--audio" in arguments else ExitCode.USAGE
    assert called.code == expected
    assert message in called.err
    assert len(called.err_lines) == 1


def test_bench_when_given_a_recording_then_its_windows_are_decoded(
    folder: Path, sample_wav: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    called = call_main(
        capsys,
        *("bench", folder, "--audio", sample_wav, "--evict", "none", "--device", "cpu"),
        *("--batch-size", "3", "--steps", "4", "--rounds", "1"),
    )
    assert called.code == ExitCode.OK, called.err
    assert "3 rows" in called.out
