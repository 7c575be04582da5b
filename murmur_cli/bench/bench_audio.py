"""The audio of a comparison: excerpts as wave files, with what was really said in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.errors import UsageError
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_samples
from murmur_cli.types import Samples


@dataclass(frozen=True, slots=True)
class Spoken:
    """Text or a turn of one speaker; `text` is empty in a turn."""

    start_s: float
    end_s: float
    speaker: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class BenchAudio:
    """One recording.

    Attributes:
        name: without folder and ending.
        samples: mono, 16 kHz.
        spoken: reference text in order of time; None without a reference.
        turns: reference turns; None without one.
    """

    name: str
    samples: Samples
    spoken: tuple[Spoken, ...] | None
    turns: tuple[Spoken, ...] | None

    @property
    def duration_s(self) -> float:
        """Of the samples."""
        return len(self.samples) / SAMPLE_RATE_HZ

    def excerpt(self, start_s: float, seconds: float) -> BenchAudio:
        """`seconds` from `start_s` on, all that is left with 0; references go along.

        A recording that is too short for the start gives its own beginning. Text belongs to the
        excerpt that holds its middle.
        """
        start_s = start_s if start_s < self.duration_s else 0.0
        end_s = min(self.duration_s, start_s + seconds) if seconds else self.duration_s
        return BenchAudio(
            self.name,
            self.samples[to_samples(start_s) : to_samples(end_s)],
            None if self.spoken is None else _with_middle(self.spoken, start_s, end_s),
            None if self.turns is None else _cut(self.turns, start_s, end_s),
        )

    def times(self, factor: int) -> BenchAudio:
        """The audio `factor` times after itself, without references."""
        return BenchAudio(f"{self.name}_x{factor}", np.tile(self.samples, factor), None, None)

    def write(self, folder: Path) -> Path:
        """As a 16-bit wave file in `folder`."""
        import soundfile

        path = folder / f"{self.name}.wav"
        soundfile.write(path, self.samples, SAMPLE_RATE_HZ, subtype="PCM_16")
        return path


def read_bench_audio(paths: Sequence[Path]) -> tuple[BenchAudio, ...]:
    """Recordings with the references that lie beside them: NAME.stm and NAME.rttm.

    Raises:
        RecordingError: a file cannot be read.
        UsageError: no file, two of one name, or a reference that is not in its format.
    """
    if not paths:
        raise UsageError("no audio: give --audio FILE, or make bench AUDIO=FILE")
    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        raise UsageError("two recordings of one name: they would share their references")
    return tuple(_read(path) for path in paths)


def _read(path: Path) -> BenchAudio:
    samples = read_recording(InputFile(path, path.stem)).samples
    stm, rttm = path.with_suffix(".stm"), path.with_suffix(".rttm")
    return BenchAudio(
        path.stem,
        np.asarray(samples[0 : len(samples)]),
        read_stm(stm) if stm.is_file() else None,
        read_rttm(rttm) if rttm.is_file() else None,
    )


def read_stm(path: Path) -> tuple[Spoken, ...]:
    """Text of an STM file: session, channel, speaker, start, end, text.

    Raises:
        UsageError: a line has too few fields or no times.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith(";"):
            continue
        fields = line.split(maxsplit=5)
        try:
            start_s, end_s = float(fields[3]), float(fields[4])
        except (IndexError, ValueError):
            raise UsageError(f"{path.name} line {number}: not a line of STM") from None
        text = re.sub(r"^<[^>]*>\s*", "", fields[5]) if len(fields) > 5 else ""
        found.append(Spoken(start_s, end_s, fields[2], text))
    return tuple(sorted(found, key=lambda spoken: spoken.start_s))


def read_rttm(path: Path) -> tuple[Spoken, ...]:
    """Turns of an RTTM file.

    Raises:
        UsageError: a line has too few fields or no times.
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fields = line.split()
        if not fields or fields[0] != "SPEAKER":
            continue
        try:
            start_s, length_s = float(fields[3]), float(fields[4])
            found.append(Spoken(start_s, start_s + length_s, fields[7]))
        except (IndexError, ValueError):
            raise UsageError(f"{path.name} line {number}: not a line of RTTM") from None
    return tuple(sorted(found, key=lambda turn: turn.start_s))


def _with_middle(spoken: Sequence[Spoken], start_s: float, end_s: float) -> tuple[Spoken, ...]:
    return tuple(
        Spoken(one.start_s - start_s, one.end_s - start_s, one.speaker, one.text)
        for one in spoken
        if start_s <= (one.start_s + one.end_s) / 2 < end_s
    )


def _cut(turns: Sequence[Spoken], start_s: float, end_s: float) -> tuple[Spoken, ...]:
    return tuple(
        Spoken(max(turn.start_s, start_s) - start_s, min(turn.end_s, end_s) - start_s, turn.speaker)
        for turn in turns
        if turn.start_s < end_s and turn.end_s > start_s
    )
