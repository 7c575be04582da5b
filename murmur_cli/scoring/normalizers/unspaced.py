"""Scripts without spaces between words are scored by character, as is usual for them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from murmur_cli.unspaced import is_unspaced


def split_unspaced(word: str) -> Iterator[str]:
    """The word cut around every character of Chinese, Japanese, Thai and the like; marks stay with
    their character. Other words stay whole."""
    if word.isascii():
        yield word
        return
    piece = ""
    alone = False
    for char in word:
        if unicodedata.category(char)[0] == "M" and piece:
            piece += char
            continue
        unspaced = is_unspaced(char)
        if piece and (unspaced or alone):
            yield piece
            piece = ""
        piece += char
        alone = unspaced
    yield piece
