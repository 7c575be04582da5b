"""Text tokens -> words, with the tokens that belong to each."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.asr.whisper.tokens import WhisperTokens

UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "my", "yue"})
"""Languages written without spaces: each whole character (as tokens give it) is a word."""

OPENING = frozenset("\"'“‘¿¡([{-«「『（")
"""Punctuation that belongs to the word after it when a space stands before it."""

PUNCTUATION = frozenset(string.punctuation) | frozenset("。，！？：；、”“‘’„«»「」『』（）…—–¿¡")


@dataclass(frozen=True, slots=True)
class TokenWord:
    """A word's text without outer spaces, whether a space precedes it, and its tokens.

    `places` index the sequence given to `split_words`.
    """

    text: str
    space_before: bool
    places: tuple[int, ...]


def split_words(
    text_tokens: Sequence[int], tokens: WhisperTokens, language: str | None
) -> tuple[TokenWord, ...]:
    """Words of consecutive text tokens; every visible character is in exactly one word."""
    words: list[TokenWord] = []
    for text, places in _whole_characters(text_tokens, tokens):
        unspaced = language in UNSPACED_LANGUAGES
        stripped = text.strip()
        starts_word = text[:1].isspace() or not words or unspaced
        if not stripped:
            # A lone space: the next piece starts a word.
            words.append(TokenWord("", True, places))
        elif starts_word and not (_is_punctuation(stripped) and _closes(text, words)):
            words.append(TokenWord(stripped, text[:1].isspace(), places))
        else:
            last = words[-1]
            words[-1] = TokenWord(last.text + stripped, last.space_before, last.places + places)
    return _attach_opening(words)


def _whole_characters(
    text_tokens: Sequence[int], tokens: WhisperTokens
) -> list[tuple[str, tuple[int, ...]]]:
    """Smallest runs of tokens that decode to whole characters.

    A character can only be unfinished at the end of a run: U+FFFD before the end stands for
    bytes that no later token completes.
    """
    runs: list[tuple[str, tuple[int, ...]]] = []
    pending: list[int] = []
    for place, _ in enumerate(text_tokens):
        pending.append(place)
        text = tokens.decode([text_tokens[index] for index in pending])
        if not text.endswith("�") or place == len(text_tokens) - 1:
            runs.append((text, tuple(pending)))
            pending = []
    return runs


def _is_punctuation(text: str) -> bool:
    return all(character in PUNCTUATION for character in text)


def _closes(text: str, words: list[TokenWord]) -> bool:
    """Whether punctuation belongs to the word before it."""
    if not words:
        return False
    return not (text[:1].isspace() and text.strip()[0] in OPENING)


def _attach_opening(words: list[TokenWord]) -> tuple[TokenWord, ...]:
    """Join empty and opening-punctuation words to the word after them."""
    joined: list[TokenWord] = []
    carried: TokenWord | None = None
    for word in words:
        if carried is not None:
            space = carried.space_before or (not carried.text and word.space_before)
            word = TokenWord(carried.text + word.text, space, carried.places + word.places)
            carried = None
        if not word.text or (_is_punctuation(word.text) and word.text[0] in OPENING):
            carried = word
        else:
            joined.append(word)
    if carried is not None and carried.text:
        joined.append(carried)
    return tuple(joined)
