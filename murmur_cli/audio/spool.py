"""Audio that arrives in blocks: in memory while it is short, in a temporary file when long."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from murmur_cli.audio.temporary_bytes import TemporaryBytes
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Samples, SampleSource

MEMORY_VALUES = 600 * SAMPLE_RATE_HZ
"""Ten minutes of one channel, 38 MB: small beside the models, and most calls and voice notes
never touch the disk."""

BLOCK_SAMPLES = 1 << 18
"""Samples worked on at once when a whole recording is gone through."""

VALUE_BYTES = np.dtype(np.float32).itemsize


class AudioSource(Protocol):
    """Audio of shape (samples,) or (samples, channels), float32; numpy arrays are this too."""

    @property
    def shape(self) -> tuple[int, ...]:
        """As of an array."""

    def __len__(self) -> int:
        """Number of samples."""

    def __getitem__(self, span: slice, /) -> npt.NDArray[np.float32]:
        """Neighbouring samples of all channels."""

    def ravel(self) -> SampleSource:
        """The values one after the other, (samples * channels,), not copied."""


class SpooledAudio:
    """Audio in a temporary file; each slice is read into a fresh array.

    The file is gone when the last object over it is.
    """

    def __init__(self, content: TemporaryBytes, shape: tuple[int, ...]) -> None:
        self._content = content
        self.shape = shape

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, span: slice, /) -> npt.NDArray[np.float32]:
        """Samples from start to stop, as of an array; only steps of 1."""
        start, stop, step = span.indices(len(self))
        if step != 1:
            raise ValueError(f"audio on disk is read in neighbouring samples, not steps of {step}")
        row = self.shape[1:]
        values = np.empty((max(0, stop - start), *row), dtype=np.float32)
        self._content.read_into(values, start * math.prod(row) * VALUE_BYTES)
        return values

    def ravel(self) -> SpooledAudio:
        """The same file as one row of values."""
        return SpooledAudio(self._content, (math.prod(self.shape),))

    def close(self) -> None:
        """Give the disk space back; nothing can be read any more."""
        self._content.close()


class Spool:
    """Takes blocks of equal channels in order and gives them as one."""

    def __init__(self) -> None:
        self._blocks: list[npt.NDArray[np.float32]] = []
        self._content: TemporaryBytes | None = None
        self._samples = 0
        self._row: tuple[int, ...] = ()

    def append(self, block: npt.NDArray[np.float32]) -> None:
        """Take the next block; it belongs to the spool from now on.

        Raises:
            NoRoomError: the temporary file cannot be made or written.
        """
        assert not self._samples or block.shape[1:] == self._row, (block.shape, self._row)
        self._row = block.shape[1:]
        self._samples += len(block)
        if self._content is not None:
            self._content.append(block)
            return
        self._blocks.append(block)
        if self._samples * math.prod(self._row) > MEMORY_VALUES:
            self._content = TemporaryBytes()
            for held in self._blocks:
                self._content.append(held)
            self._blocks = []

    def finish(self) -> AudioSource:
        """All of it, (samples,) or (samples, channels); the spool is used up."""
        if self._content is not None:
            return SpooledAudio(self._content, (self._samples, *self._row))
        blocks, self._blocks = self._blocks, []
        if not blocks:
            return np.zeros(0, dtype=np.float32)
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def spool_through(
    audio: AudioSource | SampleSource, change: Callable[[npt.NDArray[np.float32]], Samples]
) -> SampleSource:
    """Mono samples that `change` makes of each block of the audio.

    change: sample by sample, so that the borders of blocks do not matter; gives a new array.

    Raises:
        NoRoomError: the temporary file cannot be made or written.
    """
    spool = Spool()
    for start in range(0, len(audio), BLOCK_SAMPLES):
        spool.append(change(audio[start : start + BLOCK_SAMPLES]))
    return spool.finish()
