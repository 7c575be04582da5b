"""Whether a text can be what so much speech says: told by its words a second."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from murmur_cli.asr.speech_llm.text_words import split_text
from murmur_cli.unspaced import is_unspaced

MOST_WORDS_PER_S = 6.0
"""Fast talk has about 4. Speech at twice its speed is flagged, as is a text that was made up."""

FREE_WORDS = 10
"""On top: the detector may leave out quiet words around little speech."""

UNSPACED_WEIGHT = 0.5
"""Of a character that is a word by itself: 12 syllables a second are as fast as 6 words."""

LEAST_WORDS_PER_S = 0.5
LEAST_SPEECH_S = 20.0
"""Slow dictation has one word a second. Over less speech a few words may be all: a cough, a laugh
and music are taken for speech too."""


class RateFault(StrEnum):
    """Why a text cannot be what was said."""

    TOO_MANY = "more words than speech of that length can hold"
    TOO_FEW = "next to no words for so much speech"


def rate_fault(texts: Sequence[str], speech_s: float) -> RateFault | None:
    """What is wrong with the number of words; None if nothing is.

    texts: of an answer. speech_s: detected speech that it heard. No words at all are another
    matter: there may be none in it.
    """
    words = sum(
        UNSPACED_WEIGHT if is_unspaced(word.text[0]) else 1.0
        for text in texts
        for word in split_text(text)
    )
    if words > FREE_WORDS + MOST_WORDS_PER_S * speech_s:
        return RateFault.TOO_MANY
    if speech_s >= LEAST_SPEECH_S and 0 < words < LEAST_WORDS_PER_S * speech_s:
        return RateFault.TOO_FEW
    return None
