"""`--kv-offload`: the same words, a note of what lies where; refused where it cannot be."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from murmur_cli.errors import ExitCode
from support.media_files import write_excerpt
from support.murmur_call import call_main
from support.tiny_folder import write_tiny_folder
from support.tiny_speech_llms.vibevoice import write_vibevoice_folder

pytestmark = [
    pytest.mark.embedded,
    pytest.mark.filterwarnings("ignore"),  # the library's own, about tiny configurations
]

WRITERS = {"whisper": write_tiny_folder, "vibevoice": write_vibevoice_folder}
NOTE = re.compile(
    r"kv offload: \d+\.\d MB of the speech cache on the device, \d+\.\d MB in host memory; "
    r"(\d+\.\d) % of the entries that steps read were fetched for them"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, sample_wav: Path) -> Path:
    """Two models, and as much real speech as the tiny Whisper hears at once."""
    folder = tmp_path_factory.mktemp("user")
    for name, write in WRITERS.items():
        write(folder / name)
    write_excerpt(sample_wav, folder / "talk.wav", 7.0, 8.5)
    return folder


@pytest.mark.parametrize("model", WRITERS)
def test_speech_when_offloaded_then_the_same_words_and_a_note(
    model: str,
    folder: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    documents = {}
    for name, more in (("there", ()), ("away", ("--kv-offload",))):
        called = call_main(
            capsys, "transcribe", "talk.wav", "--model", f"./{model}", "--device", "cpu",
            "--chunk", "3", "--evict", "c3r", "--kv-budget", "8", "--precision", "float32",
            "-o", str(tmp_path / name), "-f", "json", "--no-diarize", "-v", *more,
        )  # fmt: skip
        assert called.code == ExitCode.OK, called.err
        assert ("talk: kv offload: " in called.err) == (name == "away")
        documents[name] = json.loads((tmp_path / name / "talk.json").read_text(encoding="utf-8"))
    there, away = documents["there"], documents["away"]
    assert away["segments"] == there["segments"]
    assert [chunk["tokens"] for chunk in away["chunks"]] == [
        chunk["tokens"] for chunk in there["chunks"]
    ]
    assert away["run"]["options"]["kv_offload"] is True
    (note,) = [line for line in away["notes"] if line.startswith("kv offload")]
    found = NOTE.fullmatch(note)
    assert found is not None, note
    assert 0 < float(found[1]) <= 100
    assert not [line for line in there["notes"] if line.startswith("kv offload")]


@pytest.mark.parametrize(
    ("evict", "message"),
    [
        ("none", "--kv-offload: policy 'none' chooses no entries by keys and queries"),
        ("h2o", "--kv-offload: h2o reads all of the speech in its first 16 steps"),
    ],
)
def test_speech_when_a_step_may_read_all_of_it_then_refused_before_any_work(
    evict: str,
    message: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(folder)
    called = call_main(
        capsys, "transcribe", "talk.wav", "--model", "./whisper", "--evict", evict, "--kv-offload"
    )
    assert called.code == ExitCode.USAGE
    assert message in called.err.splitlines()[-1]
