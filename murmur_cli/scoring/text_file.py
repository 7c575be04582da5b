"""Text of a file of references or hypotheses."""

from __future__ import annotations

from pathlib import Path

from murmur_cli.errors import RecordingError


def read_text(path: Path) -> str:
    """The text, every kind of line end as a line feed, without a byte order mark.

    Raises:
        RecordingError: it cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordingError(f"not UTF-8 (byte {error.start})") from error
    except OSError as error:
        raise RecordingError(f"cannot be read ({error.strerror})") from error
