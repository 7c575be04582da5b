"""Bytes in a temporary file without a name, for what is too large to keep in memory."""

from __future__ import annotations

import tempfile
import threading
import weakref

import numpy as np
import numpy.typing as npt


class NoRoomError(Exception):
    """The temporary file cannot be made or written; one plain line with the cure."""


class TemporaryBytes:
    """Grows at its end, is read anywhere; several threads may read at once.

    The file lies where TMPDIR says, has no name, and is gone when this object is closed or
    collected, or the process ends, however that happens. It is read by calls, not mapped:
    mapped pages would count as memory of the process.
    """

    def __init__(self) -> None:
        """Make the file.

        Raises:
            NoRoomError: there is no folder where files can be made.
        """
        try:
            self._file = tempfile.TemporaryFile(prefix="murmur-", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise NoRoomError(_no_room(error)) from error
        self._lock = threading.Lock()
        self._close = weakref.finalize(self, self._file.close)

    @property
    def closed(self) -> bool:
        """Whether the file is gone."""
        return self._file.closed

    def append(self, values: npt.NDArray[np.float32]) -> None:
        """Write the values behind what is there.

        Raises:
            NoRoomError: the disk is full, or a limit of the user's is reached.
        """
        rest = _bytes_of(np.ascontiguousarray(values))
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError as error:
            raise NoRoomError(_no_room(error)) from error

    def read_into(self, values: npt.NDArray[np.float32], start_byte: int) -> None:
        """Fill a contiguous array with the bytes from `start_byte` on.

        Raises:
            OSError: the disk fails.
            ValueError: the file is closed.
        """
        rest = _bytes_of(values)
        with self._lock:
            self._file.seek(start_byte)
            while rest:
                count = self._file.readinto(rest)
                assert count, (start_byte, len(rest))
                rest = rest[count:]

    def close(self) -> None:
        """Give the disk space back; a second call does nothing."""
        self._close()


def _bytes_of(values: npt.NDArray[np.float32]) -> memoryview:
    # Python cannot cast a view of nothing.
    return values.data.cast("B") if values.size else memoryview(b"")


def _no_room(error: OSError) -> str:
    reason = error.strerror or str(error)
    folder = f" in {tempfile.tempdir}" if tempfile.tempdir else ""
    return (
        f"no room for the decoded audio{folder} ({reason}); it takes 230 MB for each hour and"
        " channel: set TMPDIR to a folder on a disk with more room"
    )
