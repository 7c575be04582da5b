"""Lower case, no punctuation, no tags, no fillers of English."""

from __future__ import annotations

import re
import unicodedata

FILLERS = frozenset({"uh", "um", "mm", "hmm", "mhm", "ah", "oh", "eh", "er", "erm", "huh"})
"""Of English. The pieces of 'uh-huh' and 'mm-hmm' are among them."""

_TAG = re.compile(r"<[^>]*>|\[[^\]]*\]")
_APOSTROPHES = str.maketrans("’‘ʼ＇", "''''")


def rewrite(text: str, *, fillers: frozenset[str]) -> str:
    """The text in lower case, without `[tags]`, `<tags>`, punctuation and `fillers`.

    Apostrophes stay, hyphens part words, compatibility forms are made plain (NFKC).
    """
    plain = unicodedata.normalize("NFKC", _TAG.sub(" ", text)).translate(_APOSTROPHES).lower()
    spaced = "".join(char if _is_of_a_word(char) else " " for char in plain)
    return " ".join(word for word in spaced.split() if word not in fillers and word.strip("'"))


def _is_of_a_word(char: str) -> bool:
    # Letters, marks and digits; marks are the vowels of many scripts.
    return char == "'" or unicodedata.category(char)[0] in "LMN"
