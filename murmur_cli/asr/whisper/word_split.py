"""Text tokens -> words, with the tokens that belong to each."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.punctuation import belongs_to_word_before

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
    unspaced = language in UNSPACED_LANGUAGES
    space: tuple[int, ...] = ()
    for piece, piece_places in _whole_characters(text_tokens, tokens):
        if not piece.strip():
            space += piece_places  # belongs to whatever follows
            continue
        text, places = (" " if space else "") + piece, space + piece_places
        space = ()
        stripped = text.strip()
        starts_word = text[:1].isspace() or not words or unspaced
        if starts_word and not (words and _closes(text, unspaced=unspaced)):
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


def _closes(text: str, *, unspaced: bool) -> bool:
    """Whether the text is punctuation that belongs to the word before it."""
    stripped = text.strip()
    if not _is_punctuation(stripped):
        return False
    if text[:1].isspace():
        return belongs_to_word_before(stripped)
    return not unspaced or stripped[0] not in OPENING


def _attach_opening(words: list[TokenWord]) -> tuple[TokenWord, ...]:
    """Join opening punctuation to the word that follows it without a space."""
    joined: list[TokenWord] = []
    carried: TokenWord | None = None
    for word in words:
        if carried is not None and word.space_before:
            joined.append(carried)  # a dash or quote between spaces stands alone
        elif carried is not None:
            word = TokenWord(
                carried.text + word.text, carried.space_before, carried.places + word.places
            )
        carried = None
        if _is_punctuation(word.text) and word.text[0] in OPENING:
            carried = word
        else:
            joined.append(word)
    if carried is not None:
        joined.append(carried)
    return tuple(joined)
