"""`murmur transcribe` with stand-ins for what loads models: options, exit codes, streams, files."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.errors import ExitCode, ModelError, UsageError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.types import KvUsage
from support.fake_stages import FakeStages, Ready, SpeaksThreeWords
from support.media_files import RATE_HZ, forge_wav_sizes, tone
from support.murmur_call import Called, call_main

Call = Callable[..., Called]


@pytest.fixture
def recogniser() -> SpeaksThreeWords:
    return SpeaksThreeWords()


@pytest.fixture
def stages(recogniser: SpeaksThreeWords, monkeypatch: pytest.MonkeyPatch) -> FakeStages:
    fake = FakeStages(Ready(recogniser))
    monkeypatch.setattr("murmur_cli.batch.start_stages", fake.start)
    choice = ModelChoice("stand-in", ModelKind.EMBEDDED, Path("/nowhere"), "a test")
    monkeypatch.setattr("murmur_cli.models.choice.choose_model", lambda name, device: choice)
    return fake


@pytest.fixture
def call(stages: FakeStages, capsys: pytest.CaptureFixture[str]) -> Call:
    def transcribe(*arguments: str | Path) -> Called:
        return call_main(capsys, "transcribe", "--device", "cpu", *arguments)

    return transcribe


@pytest.fixture
def call_without_stages(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Call:
    """For calls that must end before anything is loaded."""

    def refuse(*_: object) -> None:
        pytest.fail("a model is about to be loaded")

    monkeypatch.setattr("murmur_cli.batch.start_stages", refuse)

    def transcribe(*arguments: str | Path) -> Called:
        return call_main(capsys, "transcribe", "--device", "cpu", *arguments)

    return transcribe


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    return _wav(tmp_path / "talk.wav", tone(2.0))


def _wav(path: Path, samples: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    sf.write(path, samples, RATE_HZ)
    return path


def _silence(path: Path) -> Path:
    return _wav(path, np.zeros(RATE_HZ, np.float32))


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# --- options: wrong ones end with code 2 before any model loads ---------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--speakers", "0"], "--speakers 0: give 1 or more"),
        (["--speakers=-1"], "--speakers -1: give 1 or more"),
        (["--min-speakers", "5", "--max-speakers", "2"], "--min-speakers 5 is more than"),
        (["--speakers", "2", "--max-speakers", "3"], "--speakers is exact"),
        (
            ["--enroll-threshold", "0.4"],
            "murmur: --enroll-threshold 0.4: there is no known voice to compare with; give "
            "--enroll NAME=FILE, too, or leave it out",
        ),
        (["--enroll-threshold", "0.5"], "--enroll-threshold 0.5: there is no known voice to"),
        (["--enroll-threshold", "7"], "--enroll-threshold 7: give more than 0, at most 1"),
        (
            ["--no-diarize", "--enroll-threshold", "0.4"],
            "--enroll-threshold 0.4: there is no known voice to compare with",
        ),
        (["--no-diarize", "--max-speakers", "3"], "do not give --no-diarize, too"),
        (["--no-diarize", "--diarizer", "pyannote"], "do not give --no-diarize with it"),
        (["--chunk", "0"], "--chunk 0: give at least 1"),
        (["--chunk", "abc"], "--chunk abc: give seconds, 'auto' or 'full'"),
        (["--chunk", "nan"], "--chunk nan: give at least 1"),
        (["--chunk", "inf"], "--chunk inf: give at least 1"),
        (["--evict", "xyz"], "--evict xyz: unknown policy; known: none, output, speech, both"),
        (["--evict", "spech"], "did you mean speech?"),
        (["--evict", "C3R"], "--evict C3R: unknown policy (did you mean c3r?); known: none"),
        (["--evict", "c3rr"], "--evict c3rr: unknown policy (did you mean c3r?); known: none"),
        (["--channels", "SPLIT"], "--channels SPLIT: known are mix, split, auto (did you mean sp"),
        (["--task", "Translate"], "known tasks are transcribe, translate (did you mean translate"),
        (["--evict-opt", "nonsense"], "--evict-opt nonsense: write KEY=VALUE"),
        (["--evict-opt", "=3"], "--evict-opt =3: write KEY=VALUE"),
        (["--evict", "speech", "--evict-opt", "nonsense=1"], "--evict-opt nonsense"),
        (["--batch-size", "0"], "--batch-size 0: give 1 to 4096"),
        (["--precision", "int4"], "--precision int4: known are float32, exact, fast"),
        (
            ["--evict", "speech", "--evict-opt", "window=5", "--evict-opt", "window=7"],
            "--evict-opt window=7: window is given twice",
        ),
        (["--format", "srtt"], "--format srtt: unknown format (did you mean srt?)"),
        (["--format", ""], "--format names no format"),
        (["--task", "nonsense"], "--task nonsense: known tasks are transcribe, translate"),
        (["--language", " "], "--language is empty"),
        (["--device", "gpu"], "--device gpu: give auto, cpu, cuda, cuda:N or balanced"),
        (["-o", ""], "-o is empty"),
        (["-o", "-"], "-o - takes one format"),
        (["-o", "-", "-f", "txt", "--show"], "--show and -o - both want standard output"),
    ],
    ids=" ".join,
)
def test_call_when_an_option_is_wrong_then_one_line_and_code_2(
    call_without_stages: Call, talk: Path, options: list[str], expected: str
) -> None:
    called = call_without_stages(talk, *options)
    assert called.code == ExitCode.USAGE
    assert called.out == ""
    (line,) = called.err_lines
    assert line.startswith("murmur: ")
    assert expected in line
    assert _names(talk.parent) == ["talk.wav"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--evct", "speech"], "--evict"),
        (["--no-diarise"], "--no-diarize"),
        (["--batch-size", "x"], "--batch-size"),
        (["--track", "-1"], "--track"),
    ],
    ids=" ".join,
)
def test_call_when_an_option_cannot_be_parsed_then_code_2_names_it_or_the_near_one(
    call_without_stages: Call, talk: Path, options: list[str], expected: str
) -> None:
    called = call_without_stages(talk, *options)
    assert called.code == ExitCode.USAGE
    assert called.out == ""
    assert expected in called.err
    assert "Traceback" not in called.err


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("options", "code", "expected"),
    [
        (["--language", "xx"], ExitCode.USAGE, "--language xx: unknown to this model; known:"),
        (["--model", "whisper-tiny.en", "--language", "de"], ExitCode.USAGE, "English only"),
        (["--model", "whisper-tiny.en", "--task", "translate"], ExitCode.USAGE, "English only"),
        (["--model", "some/unknown"], ExitCode.MODEL_MISSING, "murmur models pull some/unknown"),
        (["--model", "VibeVoice-ASR"], ExitCode.MODEL_MISSING, "pull microsoft/VibeVoice-ASR-HF"),
        (["--model", "whisper-bse"], ExitCode.MODEL_MISSING, "did you mean whisper-base?"),
        (["--model", "./nothing"], ExitCode.MODEL_MISSING, "there is no such folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_call_when_the_model_cannot_do_it_then_said_before_audio_is_read(
    call_without_stages: Call, talk: Path, options: list[str], code: ExitCode, expected: str
) -> None:
    from murmur_cli.models.embedded_whisper import embedded_whisper

    for name in ("whisper-base", "whisper-tiny.en"):
        embedded_whisper(name)  # languages are known early once a model is converted
    called = call_without_stages(talk, *options)
    assert called.code == code
    assert called.out == ""
    (line,) = called.err_lines
    assert expected in line


def test_call_when_model_folder_has_no_weights_then_code_4(
    call_without_stages: Call, talk: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    called = call_without_stages(talk, "--model", folder)
    assert called.code == ExitCode.MODEL_MISSING
    assert "has no config.json" in called.err
    (folder / "config.json").write_text('{"model_type": "whisper"}')
    called = call_without_stages(talk, "--model", folder)
    assert called.code == ExitCode.MODEL_MISSING
    assert "lacks generation_config.json, tokenizer.json" in called.err


# --- inputs ------------------------------------------------------------------------------------


def test_call_when_nothing_is_given_then_code_2(call_without_stages: Call) -> None:
    assert call_without_stages().code == ExitCode.USAGE


def test_call_when_folder_or_wildcard_holds_nothing_then_code_2(
    call_without_stages: Call, tmp_path: Path
) -> None:
    called = call_without_stages(tmp_path)
    assert (called.code, len(called.err_lines)) == (ExitCode.USAGE, 1)
    assert "no audio or video file" in called.err
    called = call_without_stages(tmp_path / "*.wav")
    assert (called.code, len(called.err_lines)) == (ExitCode.USAGE, 1)
    assert "no file matches" in called.err


def test_call_when_every_input_is_missing_then_code_3_and_no_folder_is_made(
    call: Call, tmp_path: Path
) -> None:
    missing = [tmp_path / "nowhere" / "a.wav", tmp_path / "b.wav"]
    called = call(*missing)
    assert called.code == ExitCode.NOTHING_PROCESSED
    assert called.err_lines == [
        f"{missing[0]}: failed: cannot be read (No such file or directory)",
        f"{missing[1]}: failed: cannot be read (No such file or directory)",
        "0 of 2 recordings done, 2 failed",
    ]
    assert _names(tmp_path) == []


def test_batch_when_some_inputs_fail_then_the_others_are_done(call: Call, tmp_path: Path) -> None:
    first, last = _wav(tmp_path / "1.wav", tone(1.0)), _wav(tmp_path / "4.wav", tone(1.0))
    junk, missing = tmp_path / "2.wav", tmp_path / "3.wav"
    junk.write_bytes(bytes(range(256)) * 16)
    called = call(first, junk, missing, last, "-o", tmp_path / "out", "-f", "txt")
    assert called.code == ExitCode.SOME_FAILED
    assert _names(tmp_path / "out") == ["1.txt", "4.txt"]
    failures = [line for line in called.err_lines if "failed" in line]
    assert [line.split(":")[0] for line in failures[:2]] == [str(junk), str(missing)]
    assert failures[2:] == ["2 of 4 recordings done, 2 failed"]


def test_batch_when_names_are_the_same_then_each_has_its_files(call: Call, tmp_path: Path) -> None:
    paths = [_wav(tmp_path / folder / "call.wav", tone(1.0)) for folder in ("d1", "d2")]
    called = call(*paths, "-o", tmp_path / "out", "-f", "json")
    assert called.code == ExitCode.OK
    assert _names(tmp_path / "out") == ["d1-call.wav.json", "d2-call.wav.json"]
    for name in ("d1", "d2"):
        document = json.loads((tmp_path / "out" / f"{name}-call.wav.json").read_text("utf-8"))
        assert document["audio"]["path"].endswith(f"{name}/call.wav")


def test_call_when_file_has_no_speech_then_the_recogniser_is_not_called(
    call: Call, recogniser: SpeaksThreeWords, stages: FakeStages, tmp_path: Path
) -> None:
    stages.recogniser.failure = AssertionError("asked for although nobody speaks")
    called = call(_silence(tmp_path / "silence.wav"), "-f", "all")
    assert called.code == ExitCode.OK
    assert recogniser.recordings == []
    assert "empty: 1.0 s, no speech found (digital silence)" in called.err
    written = {path.name for path in tmp_path.iterdir()} - {"silence.wav"}
    assert written == {
        f"silence.{extension}"
        for extension in ("rttm", "srt", "json", "vtt", "txt", "stm", "seglst.json", "ctm")
    }
    document = json.loads((tmp_path / "silence.json").read_text("utf-8"))
    assert (document["status"], document["segments"], document["turns"]) == ("empty", [], [])
    assert (tmp_path / "silence.srt").read_bytes() == b""
    assert (tmp_path / "silence.rttm").read_bytes() == b""
    assert (tmp_path / "silence.vtt").read_text("utf-8").strip() == "WEBVTT"


def test_call_when_file_is_truncated_then_partial_is_code_1_unless_allowed(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    declared = talk.stat().st_size - 44
    cut = tmp_path / "cut.wav"
    forge_wav_sizes(cut, talk, riff_bytes=declared * 2 + 36, data_bytes=declared * 2)
    called = call(cut)
    assert called.code == ExitCode.SOME_FAILED
    assert called.err_lines[0].startswith(f"warning: {cut}: the file is cut off")
    assert f"{cut}: partial: 2.0 s, 3 words, 1 speaker, en" in called.err
    assert json.loads((tmp_path / "cut.json").read_text("utf-8"))["status"] == "partial"
    assert call(cut, "--allow-partial").code == ExitCode.OK


# --- streams -----------------------------------------------------------------------------------


def test_call_when_all_is_well_then_stdout_is_empty_and_stderr_plain(
    call: Call, talk: Path
) -> None:
    called = call(talk)
    assert (called.code, called.out) == (ExitCode.OK, "")
    assert len(called.err_lines) == 1
    summary, files = called.err_lines[0].split(" -> ")
    assert summary.startswith(f"{talk}: ok: 2.0 s, 3 words, 1 speaker, en; took ")
    assert files.split() == [str(talk.with_suffix(f".{name}")) for name in ("rttm", "srt", "json")]
    assert not {"\x1b", "\r"} & set(called.err)


def test_call_when_verbose_then_what_decoding_read_is_said(
    call: Call, recogniser: SpeaksThreeWords, talk: Path
) -> None:
    recogniser.kv = KvUsage(5000, 890_000, 1_000_000, 75, 100, 12_345_000_000)
    (line,) = (line for line in call(talk, "-v").err_lines if "KV" in line)
    assert line == (
        f"{talk}: KV read 12.3 GB, 2.5 MB a token, 89 % of speech entries, "
        "75 % of prompt and output entries"
    )


def test_call_when_data_of_several_goes_to_stdout_then_in_the_order_of_the_inputs(
    call: Call, tmp_path: Path
) -> None:
    # The silent one in the middle is done at once.
    _wav(tmp_path / "a.wav", tone(1.0))
    _silence(tmp_path / "b.wav")
    _wav(tmp_path / "c.wav", tone(1.0))
    called = call(tmp_path, "-o", "-", "-f", "rttm")
    assert [line.split()[1] for line in called.out.splitlines()] == ["a", "c"]
    names = [Path(line.split(":")[0]).stem for line in called.err_lines if "took" in line]
    assert names == ["a", "b", "c"]


def test_call_when_quiet_then_nothing_is_printed(call: Call, talk: Path) -> None:
    called = call(talk, "--quiet")
    assert (called.code, called.out, called.err) == (ExitCode.OK, "", "")


def test_call_when_verbose_then_the_choices_are_said(call: Call, talk: Path) -> None:
    called = call(talk, "-v")
    assert called.out == ""
    assert called.err_lines[:2] == [
        "model stand-in on cpu: a test",
        "talk: at most 300 s, as set",
    ]


def test_call_when_output_is_stdout_then_it_is_the_data_alone(call: Call, talk: Path) -> None:
    called = call(talk, "-o", "-", "-f", "json")
    assert called.code == ExitCode.OK
    assert json.loads(called.out)["segments"][0]["text"] == "one two three"
    assert _names(talk.parent) == ["talk.wav"]


def test_call_when_several_go_to_stdout_then_only_formats_that_can_be_joined(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    other = _wav(tmp_path / "other.wav", tone(1.0))
    called = call(talk, other, "-o", "-", "-f", "json")
    assert (called.code, called.out) == (ExitCode.USAGE, "")
    called = call(talk, other, "-o", "-", "-f", "rttm")
    assert called.code == ExitCode.OK
    assert [line.split()[1] for line in called.out.splitlines()] == ["talk", "other"]


def test_call_when_shown_then_the_text_is_on_stdout_and_files_are_written(
    call: Call, talk: Path
) -> None:
    called = call(talk, "--show", "--no-diarize", "-f", "rttm,ctm")
    assert called.out == "[00:00:00] one two three\n"
    assert _names(talk.parent) == ["talk.ctm", "talk.rttm", "talk.wav"]


def test_call_when_several_are_shown_then_each_text_has_a_name(
    call: Call, talk: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.wav"
    other.write_bytes(talk.read_bytes())
    called = call(talk, other, "--show", "--no-diarize", "-f", "rttm")
    text = "[00:00:00] one two three\n\n"
    assert called.out == f"== {talk}\n\n{text}== {other}\n\n{text}"


# --- places ------------------------------------------------------------------------------------


def test_call_when_output_is_a_file_then_code_2(call_without_stages: Call, talk: Path) -> None:
    called = call_without_stages(talk, "-o", talk)
    assert called.code == ExitCode.USAGE
    assert "is a file; give a folder to -o" in called.err


def test_call_when_output_cannot_be_written_then_code_2(
    call_without_stages: Call, talk: Path
) -> None:
    called = call_without_stages(talk, "-o", "/proc/murmur")
    assert called.code == ExitCode.USAGE
    assert "output folder /proc/murmur cannot be written to" in called.err


def test_call_when_output_would_replace_an_input_then_code_2(
    call_without_stages: Call, talk: Path
) -> None:
    disguised = Path(shutil.copy(talk, talk.with_name("speech.srt")))
    before = disguised.read_bytes()
    called = call_without_stages(disguised, "-f", "srt")
    assert called.code == ExitCode.USAGE
    assert "would overwrite the input" in called.err
    assert disguised.read_bytes() == before


def test_batch_when_the_disk_is_full_then_that_recording_fails_and_nothing_is_left(
    call: Call, talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)
    called = call(talk)
    assert called.code == ExitCode.NOTHING_PROCESSED
    (line,) = called.err_lines
    assert line.startswith(f"{talk}: failed: no space left for ")
    assert _names(talk.parent) == ["talk.wav"]


# --- faults ------------------------------------------------------------------------------------


def _raise(error: BaseException) -> Callable[[str], None]:
    def before(recording: str) -> None:
        if recording == "bad":
            raise error

    return before


def test_batch_when_a_stage_has_a_fault_then_one_line_and_the_others_go_on(
    call: Call, recogniser: SpeaksThreeWords, tmp_path: Path
) -> None:
    recogniser.before = _raise(ZeroDivisionError("\nnobody\ncounted"))
    paths = [_wav(tmp_path / f"{name}.wav", tone(1.0)) for name in ("bad", "good")]
    called = call(*paths, "-f", "txt")
    assert called.code == ExitCode.SOME_FAILED
    assert called.err_lines[0] == (
        f"{paths[0]}: failed: unexpected ZeroDivisionError: nobody (--debug shows where)"
    )
    assert "Traceback" not in called.err
    assert _names(tmp_path) == ["bad.wav", "good.txt", "good.wav"]
    called = call(*paths, "--debug")
    assert called.code == ExitCode.SOME_FAILED
    assert "Traceback (most recent call last)" in called.err


@pytest.mark.parametrize("error_type", [ModelError, UsageError])
def test_batch_when_the_model_does_not_load_then_it_ends_with_the_code_of_the_error(
    call: Call, stages: FakeStages, tmp_path: Path, error_type: type[ModelError | UsageError]
) -> None:
    stages.recogniser.failure = error_type("weights are damaged")
    silent = _silence(tmp_path / "1.wav")
    paths = [_wav(tmp_path / f"{name}.wav", tone(1.0)) for name in ("2", "3")]
    called = call(silent, *paths, "-f", "txt")
    assert called.code == error_type.exit_code
    assert called.err_lines[-1] == "murmur: weights are damaged"
    assert _names(tmp_path) == ["1.txt", "1.wav", "2.wav", "3.wav"]


def test_batch_when_interrupted_then_code_130_and_finished_files_stay(
    call: Call, recogniser: SpeaksThreeWords, tmp_path: Path
) -> None:
    recogniser.before = _raise(KeyboardInterrupt())
    paths = [_wav(tmp_path / f"{name}.wav", tone(1.0)) for name in ("good", "bad", "later")]
    called = call(*paths, "-f", "txt", "-q")
    assert called.code == ExitCode.INTERRUPTED
    assert called.err_lines == ["interrupted; finished recordings are written"]
    assert _names(tmp_path) == ["bad.wav", "good.txt", "good.wav", "later.wav"]
