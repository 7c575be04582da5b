"""Which decoder a file needs, told from its first bytes; names lie."""

from __future__ import annotations

from pathlib import Path


def needs_ffmpeg(path: Path) -> bool:
    """True for mp3 and Ogg, which libsndfile opens but may read only in part, without an error.

    An mp3 without a Xing header: it guesses the length and reads no further (of a two-minute
    variable-rate file, 22 seconds). Ogg: it stops after the first of several joined streams,
    and closes the gap that a damaged page leaves, so that later times are wrong.
    """
    with path.open("rb") as file:
        head = file.read(4)
    is_frame = len(head) > 1 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0
    return is_frame or head[:3] == b"ID3" or head == b"OggS"
