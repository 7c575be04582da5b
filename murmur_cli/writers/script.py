"""What a writing system allows: how wide a character is and where a line may break.

Only as much of Unicode's UAX #11 (width) and UAX #14 (line breaking) as subtitles need.
"""

import unicodedata

from murmur_cli.unspaced import is_unspaced

_LEADING_VOWELS = frozenset("เแโใไເແໂໃໄ")  # Thai and Lao vowels written before their consonant
_NEVER_FIRST = frozenset(
    "、。，．,.?!:;：；？！…‥・·ー～〜%％）)］]｝}〉》」』】〕”’\"'々ゝゞヽヾ"
    "ぁぃぅぇぉっゃゅょゎァィゥェォッャュョヮヵヶ"
)
_NEVER_LAST = frozenset("（([［{｛〈《「『【〔“‘")


def display_width(text: str) -> int:
    """Columns of the text: 2 for a full-width character, 0 for a combining or format one."""
    return len(text) if text.isascii() else sum(map(_char_width, text))


def may_break_before(left: str, right: str) -> bool:
    """Whether a line may end between two texts that have no space between them."""
    last, first = left[-1], right[0]
    if first in _NEVER_FIRST or last in _NEVER_LAST or last in _LEADING_VOWELS:
        return False
    if unicodedata.category(first)[0] == "M" or "\u200d" in (first, last):
        return False
    return is_unspaced(first) or is_unspaced(last)


def is_right_to_left(text: str) -> bool:
    """Whether the first letter with a direction is written from right to left."""
    for char in text:
        direction = unicodedata.bidirectional(char)
        if direction in ("R", "AL"):
            return True
        if direction == "L":
            return False
    return False


def _char_width(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
