"""Length that the header of a RIFF/WAVE file declares, as written, before any reader mends it."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

PLACEHOLDER_SIZES = (2_000_000_000, 2**31, 2**32)
"""Sizes that programs write when they cannot know the length: a pipe has no end yet."""

PLACEHOLDER_SLACK_BYTES = 65_536
"""Programs subtract their own header or round to pages."""


@dataclass(frozen=True, slots=True)
class WavHeader:
    """Declared length of the samples; `placeholder` says that the size means 'unknown'."""

    declared_s: float
    placeholder: bool


def read_wav_header(path: Path) -> WavHeader | None:
    """What the `fmt ` and `data` chunks declare; None if the file is not RIFF, or has neither."""
    with path.open("rb") as file:
        head = file.read(12)
        if len(head) < 12 or head[:4] != b"RIFF" or head[8:] != b"WAVE":
            return None
        return _find_data(file)


def _find_data(file: BinaryIO) -> WavHeader | None:
    bytes_per_s = 0
    while len(head := file.read(8)) == 8:
        name, size = head[:4], struct.unpack("<I", head[4:])[0]
        if name == b"data":
            return WavHeader(size / bytes_per_s, _is_placeholder(size)) if bytes_per_s else None
        body_start = file.tell()
        if name == b"fmt ":
            body = file.read(16)
            if len(body) < 16:
                return None
            bytes_per_s = struct.unpack("<I", body[8:12])[0]
        file.seek(body_start + size + size % 2)
    return None


def _is_placeholder(size: int) -> bool:
    return any(abs(size - known) <= PLACEHOLDER_SLACK_BYTES for known in PLACEHOLDER_SIZES)
