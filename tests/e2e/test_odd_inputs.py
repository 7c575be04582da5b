"""Odd files in one batch: each gets its own status, its own line and its own files."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile as sf
import soxr

from murmur_cli.errors import ExitCode
from murmur_cli.types import Status
from support.media_files import cut_file, forge_wav_sizes, write_tracks, write_video_without_audio
from support.murmur_call import Called, call_process

pytestmark = pytest.mark.embedded

RATE_HZ = 16_000
SPEECH_S = (12.5, 17.8)
"""Of the packaged sample: 'This is Diane in New Jersey.' 'And I'm Sheila in Texas, originally
from Chicago.'"""

EXPECTED_WORDS = {"jersey", "chicago"}
FORMATS = ("json", "rttm", "srt")

Make = Callable[[Path, npt.NDArray[np.float32]], object]


@dataclass(frozen=True, slots=True)
class Case:
    """A file to make from the speech; what must become of it, and what its line must say.

    `status` None means failed. `says` is in the file's line or, for a recording that was
    processed, in a warning about it.
    """

    name: str
    make: Make
    status: Status | None
    says: str
    duration_s: float | None = None

    def __str__(self) -> str:
        return self.name


def _silent(seconds: float) -> Make:
    return lambda path, speech: sf.write(path, np.zeros(round(seconds * RATE_HZ)), RATE_HZ)


def _bytes(content: bytes) -> Make:
    return lambda path, speech: path.write_bytes(content)


def _speech(rate_hz: int = RATE_HZ, subtype: str | None = None) -> Make:
    def make(path: Path, speech: npt.NDArray[np.float32]) -> None:
        samples = speech if rate_hz == RATE_HZ else soxr.resample(speech, RATE_HZ, rate_hz)
        sf.write(path, samples, rate_hz, subtype=subtype)

    return make


def _coded(codec: str, rate_hz: int = 48_000) -> Make:
    def make(path: Path, speech: npt.NDArray[np.float32]) -> None:
        write_tracks(path, [soxr.resample(speech, RATE_HZ, rate_hz)], codec=codec, rate_hz=rate_hz)

    return make


def _header_only(path: Path, speech: npt.NDArray[np.float32]) -> None:
    sf.write(path, np.zeros(1), RATE_HZ)
    path.write_bytes(path.read_bytes()[:44])
    forge_wav_sizes(path, path, riff_bytes=36, data_bytes=0)


def _not_finite(path: Path, speech: npt.NDArray[np.float32]) -> None:
    damaged = speech.copy()
    damaged[8000:8100] = np.nan
    damaged[40_000] = np.inf
    sf.write(path, damaged, RATE_HZ, subtype="FLOAT")


def _stereo(right: float) -> Make:
    def make(path: Path, speech: npt.NDArray[np.float32]) -> None:
        sf.write(path, np.stack([speech, right * speech], axis=1), RATE_HZ)

    return make


def _cut(path: Path, speech: npt.NDArray[np.float32]) -> None:
    sf.write(path, np.concatenate([speech, speech]), RATE_HZ)
    cut_file(path, path, 0.5)


def _placeholder_sizes(path: Path, speech: npt.NDArray[np.float32]) -> None:
    sf.write(path, speech, RATE_HZ)
    forge_wav_sizes(path, path, riff_bytes=0xFFFFFFFF, data_bytes=0xFFFFFFFF)


def _folder(path: Path, speech: npt.NDArray[np.float32]) -> None:
    path.mkdir()


CASES = (
    Case("silence.wav", _silent(3.0), Status.EMPTY, "no speech found (digital silence)", 3.0),
    Case("one_sample.wav", _silent(1 / RATE_HZ), Status.EMPTY, "no speech found"),
    Case("empty_file.wav", _bytes(b""), None, "the file is empty, 0 bytes"),
    Case("junk.wav", _bytes(bytes(range(255, -1, -1)) * 16), None, "not readable as audio"),
    Case("header_only.wav", _header_only, None, "no audio samples"),
    Case("text.mp3", _bytes(b"minutes of the meeting\n" * 40), None, "not readable as audio"),
    Case("folder.wav", _folder, None, "it is a folder"),
    Case("missing.wav", lambda path, speech: None, None, "No such file or directory"),
    Case("pictures.mp4", lambda path, _: write_video_without_audio(path), None, "no audio"),
    Case("会议 é.wav", _silent(0.5), Status.EMPTY, "no speech found", 0.5),
    Case("a b 100%d.wav", _silent(0.5), Status.EMPTY, "no speech found", 0.5),
    Case("12:30 [it's].wav", _silent(0.5), Status.EMPTY, "no speech found", 0.5),
    Case("line\nbreak.wav", _silent(0.5), Status.EMPTY, "no speech found", 0.5),
    Case("plain.wav", _speech(), Status.OK, "2 speakers", 5.3),
    Case("rate_8k.wav", _speech(8_000), Status.OK, "words", 5.3),
    Case("rate_44k1.flac", _speech(44_100), Status.OK, "2 speakers", 5.3),
    Case("bits_24_rate_48k.wav", _speech(48_000, "PCM_24"), Status.OK, "2 speakers", 5.3),
    Case("not_finite.wav", _not_finite, Status.OK, "not finite", 5.3),
    Case("stereo.wav", _stereo(0.5), Status.OK, "2 speakers", 5.3),
    Case("antiphase.wav", _stereo(-1.0), Status.OK, "cancel", 5.3),
    Case("cut.wav", _cut, Status.PARTIAL, "the file is cut off", 5.3),
    Case("piped.wav", _placeholder_sizes, Status.OK, "header overstates the length", 5.3),
    Case("phone.m4a", _coded("aac"), Status.OK, "words", 5.3),
    Case("radio.opus", _coded("libopus"), Status.OK, "words", 5.3),
    Case("video.mp4", _coded("aac"), Status.OK, "words", 5.3),
)


@dataclass(frozen=True, slots=True)
class Batch:
    """The call and where its files are."""

    called: Called
    inputs: Path
    outputs: Path

    def lines_about(self, case: Case) -> list[str]:
        """Lines on standard error that name the file; its failures and its summary are one."""
        name = str(self.inputs / case.name).replace("\n", "\\n")
        return [
            line
            for line in self.called.err_lines
            if line.startswith((f"{name}: ", f"warning: {name}: "))
        ]


@pytest.fixture(scope="module")
def batch(sample_wav: Path, tmp_path_factory: pytest.TempPathFactory) -> Batch:
    inputs, outputs = tmp_path_factory.mktemp("inputs"), tmp_path_factory.mktemp("outputs")
    start, stop = (round(second * RATE_HZ) for second in SPEECH_S)
    speech, _ = sf.read(sample_wav, dtype="float32", start=start, stop=stop)
    for case in CASES:
        case.make(inputs / case.name, speech)
    paths = [inputs / case.name for case in CASES]
    return Batch(call_process("transcribe", *paths, "-o", outputs), inputs, outputs)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_batch_when_a_file_is_odd_then_its_status_line_and_files_are_right(
    batch: Batch, case: Case
) -> None:
    lines = batch.lines_about(case)
    assert any(case.says in line for line in lines), (lines, batch.called.err)
    (summary,) = [line for line in lines if not line.startswith("warning: ")]
    outputs = [batch.outputs / f"{Path(case.name).stem}.{name}" for name in FORMATS]
    if case.status is None:
        assert ": failed: " in summary
        assert not any(path.exists() for path in outputs)
        return
    assert f": {case.status}: " in summary
    assert all(path.is_file() for path in outputs)
    document = json.loads(outputs[0].read_text("utf-8"), parse_constant=_refuse)
    _check_document(document, case)


def _check_document(document: dict[str, Any], case: Case) -> None:
    assert document["status"] == case.status
    assert document["session_id"] == Path(case.name).stem
    duration_s = document["audio"]["duration_s"]
    if case.duration_s is not None:
        # Coded audio may end with a frame that is not full.
        assert duration_s == pytest.approx(case.duration_s, abs=0.05)
    words = [word for segment in document["segments"] for word in segment["words"]]
    assert all(0 <= word["start_s"] < word["end_s"] <= duration_s + 0.001 for word in words)
    said = {word["text"].strip(".,").lower() for word in words}
    assert said >= (set() if case.status is Status.EMPTY else EXPECTED_WORDS)
    assert bool(document["turns"]) == (case.status is not Status.EMPTY)


def _refuse(constant: str) -> None:
    pytest.fail(f"{constant} is not JSON")


def test_batch_when_some_files_fail_then_code_1_and_stderr_is_ours_alone(batch: Batch) -> None:
    assert batch.called.code == ExitCode.SOME_FAILED
    assert batch.called.out == ""
    failed = sum(case.status is None for case in CASES)
    assert batch.called.err_lines[-1] == (
        f"{len(CASES) - failed} of {len(CASES)} recordings done, {failed} failed"
    )
    known = {line for case in CASES for line in batch.lines_about(case)}
    written = [line for line in batch.called.err_lines if f" -> {batch.outputs}" in line]
    assert len(written) == len(CASES) - failed
    assert [line for line in batch.called.err_lines[:-1] if line not in known] == []


def test_batch_when_wav_files_hold_the_same_speech_then_the_same_words(batch: Batch) -> None:
    def said(name: str) -> list[str]:
        document = json.loads((batch.outputs / f"{name}.json").read_text("utf-8"))
        return [word["text"] for segment in document["segments"] for word in segment["words"]]

    for name in ("piped", "cut", "antiphase", "rate_44k1", "bits_24_rate_48k"):
        assert said(name) == said("plain"), name


def test_call_when_the_only_file_is_junk_then_code_3(batch: Batch) -> None:
    called = call_process("transcribe", batch.inputs / "junk.wav", "-o", batch.outputs)
    assert (called.code, called.out) == (ExitCode.NOTHING_PROCESSED, "")
    assert len(called.err_lines) == 1


def test_call_when_folders_are_read_only_then_only_the_output_folder_is_written(
    batch: Batch, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o555)
    outputs = tmp_path / "out"
    called = call_process(
        "transcribe",
        batch.inputs / "silence.wav",
        "-o",
        outputs,
        folder=home,
        environment={"HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (called.code, called.out) == (ExitCode.OK, ""), called.err
    assert sorted(path.name for path in outputs.iterdir()) == [f"silence.{n}" for n in FORMATS]
