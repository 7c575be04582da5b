"""The one resampling of a recording: blocks at the source's rate -> channels at 16 kHz.

Blocks are converted as they are decoded, so that the audio at the source's rate is never held
whole; the result goes to a `Spool`. The converter is soxr at its HQ setting; the result does
not depend on the block size.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from murmur_cli.audio.decoded import Channels
from murmur_cli.audio.spool import AudioSource, Spool
from murmur_cli.timebase import SAMPLE_RATE_HZ

if TYPE_CHECKING:
    import soxr

LARGEST_SAMPLE = float(2**31)
"""Nothing that was ever audio lies beyond the range of 32-bit integers."""


class ResamplingCollector:
    """Takes blocks of shape (samples, channels) and gives all of them at 16 kHz.

    The rate may change between blocks (some containers do that); the number of channels is
    that of the first block. Samples that are not finite, or beyond any integer range, become 0
    before they can spread through the filter.
    """

    def __init__(self) -> None:
        self._spool = Spool()
        self._stream: soxr.ResampleStream | None = None
        self._rate_hz: int | None = None
        self._channel_count: int | None = None
        self._decoded_samples: Counter[int] = Counter()
        self.invalid_samples = 0

    @property
    def decoded_s(self) -> float:
        """Length of the blocks taken, counted at their own rate."""
        return sum(count / rate_hz for rate_hz, count in self._decoded_samples.items())

    @property
    def warnings(self) -> tuple[str, ...]:
        """The line that tells of samples that were no numbers; empty if all were."""
        if not self.invalid_samples:
            return ()
        return (f"{self.invalid_samples} samples are not finite numbers; they were set to 0",)

    def add(self, block: Channels, rate_hz: int) -> None:
        """Take the next block; it may be changed in place.

        Raises:
            NoRoomError: the temporary file of a long recording cannot be made or written.
        """
        if self._channel_count is None:
            self._channel_count = block.shape[1]
        assert block.shape[1] == self._channel_count, (block.shape, self._channel_count)
        if rate_hz != self._rate_hz:
            self._flush()
            self._start(rate_hz)
        self._zero_invalid(block)
        self._decoded_samples[rate_hz] += block.shape[0]
        self._spool.append(block if self._stream is None else self._stream.resample_chunk(block))

    def finish(self) -> AudioSource:
        """All audio, (samples, channels); shape (0, 1) if there was none."""
        self._flush()
        if self._channel_count is None:
            return np.zeros((0, 1), dtype=np.float32)
        return self._spool.finish()

    def _start(self, rate_hz: int) -> None:
        self._rate_hz = rate_hz
        if rate_hz != SAMPLE_RATE_HZ:
            import soxr

            self._stream = soxr.ResampleStream(
                rate_hz, SAMPLE_RATE_HZ, self._channel_count, dtype="float32", quality="HQ"
            )

    def _flush(self) -> None:
        if self._stream is not None:
            tail = np.zeros((0, self._channel_count or 1), dtype=np.float32)
            self._spool.append(self._stream.resample_chunk(tail, last=True))
        self._stream = None

    def _zero_invalid(self, block: Channels) -> None:
        # Comparing is False for NaN, so one test finds NaN, infinities and absurd values.
        invalid = ~(np.abs(block) <= LARGEST_SAMPLE)
        count = int(np.count_nonzero(invalid))
        if count:
            block[invalid] = 0.0
            self.invalid_samples += count
