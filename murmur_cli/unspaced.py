"""Scripts that set no spaces between words."""

import unicodedata

_RANGES = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF))
"""Thai and Lao, Myanmar, Khmer: scripts of narrow characters."""


def is_unspaced(char: str) -> bool:
    """Whether the character is of a script that sets no spaces between words."""
    code = ord(char)
    if any(low <= code <= high for low, high in _RANGES):
        return True
    # Hangul is wide but sets spaces between its words.
    wide = unicodedata.east_asian_width(char) in ("W", "F")
    return wide and not 0xAC00 <= code <= 0xD7A3
