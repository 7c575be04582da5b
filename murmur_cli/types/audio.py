"""What a decoded recording is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]
"""Mono audio, shape (samples,), float32 in [-1, 1], 16 kHz."""


class SampleSource(Protocol):
    """Mono audio of a whole recording, in memory or on disk; a `Samples` array is one too.

    A long recording is never in memory whole: stages read the stretch that they work on, and
    keep no more of it than they need. Several threads may read at once.
    """

    def __len__(self) -> int:
        """Number of samples."""

    def __getitem__(self, span: slice, /) -> Samples:
        """Neighbouring samples (steps of 1), cut to what is there, as of an array."""


class ChannelMode(StrEnum):
    """What becomes of the channels of a file."""

    MIX = "mix"
    """They are one recording."""
    SPLIT = "split"
    """Each is a recording of its own, of people who are in no other."""
    AUTO = "auto"
    """Split if they hold different people, else mixed."""


@dataclass(frozen=True, slots=True)
class AudioFacts:
    """What is known of an input file.

    Attributes:
        path: the file as the user named it.
        sha256: of the file's bytes, hex.
        decoder: 'soundfile' or 'pyav'.
        container: container or file format as the decoder names it.
        codec: codec or subtype as the decoder names it.
        sample_rate_hz: rate before resampling.
        channels: channels before the mono mix.
        mix: how mono came about: 'mono', 'mean', 'left', 'right', 'channel N'; 'split' if the
            channels were kept apart.
        declared_duration_s: what the header says; None if it says nothing.
        duration_s: what was decoded.
        peak_dbfs, rms_dbfs: level of the mono signal, or of all channels that were kept apart;
            None for digital silence.
    """

    path: Path
    sha256: str
    decoder: str
    container: str
    codec: str
    sample_rate_hz: int
    channels: int
    mix: str
    declared_duration_s: float | None
    duration_s: float
    peak_dbfs: float | None
    rms_dbfs: float | None


@dataclass(frozen=True, slots=True)
class Stream:
    """What is heard as one: the mix of all channels (`channel` None), or one, counted from 1."""

    samples: SampleSource
    channel: int | None = None


@dataclass(frozen=True, slots=True)
class Recording:
    """One decoded input. `truncated` marks a file that ends before its header says.

    There is one stream, or one for each channel that is kept apart. Long samples lie in a
    temporary file that is gone when the last reference to them is.
    """

    session_id: str
    streams: tuple[Stream, ...]
    facts: AudioFacts
    truncated: bool = False
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def samples(self) -> SampleSource:
        """The only stream."""
        (stream,) = self.streams
        return stream.samples
