"""What a decoded recording is."""

from __future__ import annotations

from dataclasses import dataclass
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
        mix: how mono came about: 'mono', 'mean', 'left', 'right', 'channel N', 'largest energy'.
        declared_duration_s: what the header says; None if it says nothing.
        duration_s: what was decoded.
        peak_dbfs, rms_dbfs: level of the mono signal; None for digital silence.
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
class Recording:
    """One decoded input. `truncated` marks a file that ends before its header says.

    Long `samples` lie in a temporary file that is gone when the last reference to them is.
    """

    session_id: str
    samples: SampleSource
    facts: AudioFacts
    truncated: bool = False
    warnings: tuple[str, ...] = ()
