"""The recordings of a sweep: which bytes they are and how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.bench.bench_audio import BenchAudio
from murmur_cli.errors import RecordingError
from murmur_cli.timebase import to_samples

WARM_UP, WARM_UP_S = ".warm_up", 20.0
"""A hidden file: the folder may be that of the recordings."""


@dataclass(frozen=True, slots=True)
class SweepRecording:
    """A recording that can be read. `sha256` is of the file."""

    source: InputFile
    sha256: str
    duration_s: float


@dataclass(frozen=True, slots=True)
class SweepAudio:
    """What a sweep hears.

    Attributes:
        recordings: in the order given.
        unreadable: session → why; they fail in every setting.
        warm_up: a short job that comes before the clocks run; None without recordings.
    """

    recordings: tuple[SweepRecording, ...]
    unreadable: dict[str, str]
    warm_up: Path | None


def read_sweep_audio(sources: Sequence[InputFile], folder: Path) -> SweepAudio:
    """Read every recording once; the middle of the first becomes `folder/.warm_up.wav`."""
    recordings: list[SweepRecording] = []
    unreadable: dict[str, str] = {}
    warm_up: Path | None = None
    for source in sources:
        try:
            recording = read_recording(source)
        except RecordingError as error:
            unreadable[source.session_id] = str(error)
            continue
        facts = recording.facts
        recordings.append(SweepRecording(source, facts.sha256, facts.duration_s))
        if warm_up is None:
            middle = max(0, len(recording.samples) // 2 - to_samples(WARM_UP_S) // 2)
            heard = recording.samples[middle : middle + to_samples(WARM_UP_S)]
            warm_up = BenchAudio(WARM_UP, heard, None, None).write(folder)
    return SweepAudio(tuple(recordings), unreadable, warm_up)
