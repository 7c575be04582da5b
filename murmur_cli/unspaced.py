"""Scripts that set no spaces between words."""

import unicodedata

_NARROW = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
"""Thai and Lao, Myanmar, Khmer: their characters are narrow."""
_HANGUL = ((0x1100, 0x11FF), (0x3130, 0x318F), (0xA960, 0xA97F), (0xAC00, 0xD7FF))
"""Syllables and single letters are wide, but Korean sets spaces between its words."""


def is_unspaced(char: str) -> bool:
    """Whether the character is of a script that sets no spaces between words."""
    if _is_in(char, _NARROW):
        return True
    return unicodedata.east_asian_width(char) in ("W", "F") and not _is_in(char, _HANGUL)


def _is_in(char: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(low <= ord(char) <= high for low, high in ranges)
