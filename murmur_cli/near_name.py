"""What was probably meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def near_name(text: str, known: Iterable[str]) -> str | None:
    """The known name most like `text`, whatever the case of letters; None if none is like it."""
    folded: dict[str, str] = {}
    for name in known:
        folded.setdefault(name.casefold(), name)
    near = difflib.get_close_matches(text.casefold(), folded, n=1)
    return folded[near[0]] if near else None


def did_you_mean(text: str, known: Iterable[str]) -> str:
    """The hint of a message about an unknown name: ' (did you mean NAME?)', or nothing."""
    near = near_name(text, known)
    return f" (did you mean {near}?)" if near is not None else ""
