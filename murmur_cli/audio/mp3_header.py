"""Does an mp3 say how long it is, or would a reader have to guess from its bit rate?"""

from __future__ import annotations

from pathlib import Path

LENGTH_TAGS = (b"Xing", b"Info", b"VBRI")
FIRST_FRAME_BYTES = 2048
"""The largest layer III frame is 1441 bytes; a few bytes of padding may stand before it."""


def mp3_declares_length(path: Path) -> bool:
    """True if the first frame holds a Xing, Info or VBRI tag."""
    with path.open("rb") as file:
        head = file.read(10)
        start = 0
        if len(head) == 10 and head[:3] == b"ID3":
            # Synchsafe: seven bits a byte, so that the size cannot look like a frame.
            size = sum(
                (byte & 0x7F) << shift for byte, shift in zip(head[6:], (21, 14, 7, 0), strict=True)
            )
            start = 10 + size
        file.seek(start)
        frame = file.read(FIRST_FRAME_BYTES)
    return any(tag in frame for tag in LENGTH_TAGS)
