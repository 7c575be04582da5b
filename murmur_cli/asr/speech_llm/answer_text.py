"""The text of an answer, and which of its tokens wrote which characters."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LOOK_AHEAD = 12
"""Characters that an escape may put between two characters of a text."""

MOST_BYTES = 4
"""Of a character in UTF-8: more tokens that end within one are no text."""


@dataclass(frozen=True, slots=True)
class AnswerText:
    """`ends[i]`: characters of `text` that tokens up to and with token i have written."""

    text: str
    ends: tuple[int, ...]

    def token_at(self, place: int) -> int:
        """The token that wrote the character at `place`."""
        return min(bisect_right(self.ends, place), len(self.ends) - 1)

    def share_before(self, place: int) -> float:
        """How much of its token stands before the character at `place`, in [0, 1)."""
        token = self.token_at(place)
        begin = self.ends[token - 1] if token else 0
        return max(0.0, place - begin) / max(1, self.ends[token] - begin)

    def find(self, text: str, start: int) -> tuple[int, int] | None:
        """Where a text stands from `start` on, as it is or as JSON escapes it; None: nowhere.

        Between quotes first: a short text may occur in the keys of a list of segments, too.
        """
        forms = (text, json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1])
        for quote in ('"', ""):
            for form in forms:
                place = self.text.find(quote + form + quote, start)
                if place >= 0:
                    return place + len(quote), place + len(quote) + len(form)
        return None

    def places_of(self, text: str, span: tuple[int, int]) -> list[int]:
        """Where each character of `text` stands in the span; that of an escape, where it begins."""
        places: list[int] = []
        at, end = span
        for char in text:
            found = self.text.find(char, at, min(end, at + LOOK_AHEAD))
            places.append(min(at, end - 1) if found < 0 else found)
            at = at if found < 0 else found + 1
        return places


def decoded_text(tokens: Sequence[int], decode: Callable[[Sequence[int]], str]) -> AnswerText:
    """The text of tokens, which are decoded one by one where they end with a whole character.

    decode: a tokenizer's; spaces around a part may differ from those in the whole.
    """
    text, ends, at = decode(tokens), list[int](), 0
    pending: list[int] = []
    for place, token in enumerate(tokens):
        pending.append(token)
        part = decode(pending)
        if part.endswith("�") and len(pending) < MOST_BYTES and place + 1 < len(tokens):
            ends.append(at)  # a character's first bytes; its last token writes it
            continue
        core = part.strip()
        found = text.find(core, at, at + len(part) + LOOK_AHEAD) if core else -1
        at = found + len(core) if found >= 0 else at
        ends.append(at)
        pending = []
    return AnswerText(text, tuple(ends))
