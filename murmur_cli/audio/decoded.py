"""What a decoder hands over: all channels at 16 kHz, and what the file said of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.spool import AudioSource

Channels = npt.NDArray[np.float32]
"""Audio of all channels, shape (samples, channels), float32."""


@dataclass(frozen=True, slots=True)
class DecodedAudio:
    """One audio track.

    Attributes:
        channels: (samples, channels) at 16 kHz, finite, scale of the source.
        decoder: 'soundfile' or 'pyav'.
        container, codec: as the decoder names them.
        sample_rate_hz: rate of the source.
        duration_s: what was decoded, counted at the rate of the source.
        declared_duration_s: what the header says; None if it says nothing usable.
        warnings: plain lines for the user.
        is_surround: more than two channels, which the file says are loudspeakers.
    """

    channels: AudioSource
    decoder: str
    container: str
    codec: str
    sample_rate_hz: int
    duration_s: float
    declared_duration_s: float | None
    warnings: tuple[str, ...] = ()
    is_surround: bool = False
