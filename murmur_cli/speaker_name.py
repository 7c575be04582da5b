"""What may be the name of a person."""

from __future__ import annotations

import re
import unicodedata

from murmur_cli.errors import UsageError

GENERATED_LABEL = re.compile(r"SPEAKER_\d+")
"""What speakers are called who are not known."""

UNKNOWN = "unknown"
"""What formats that must name a speaker write for none."""


def clean_name(text: str, option: str) -> str:
    """The name on one line, in the composed form of Unicode, without white space at its ends.

    Raises:
        UsageError: nothing is left, it holds control characters, or it stands for nobody.
    """
    name = unicodedata.normalize("NFC", " ".join(text.split()))
    if not name:
        raise UsageError(f"{option}: the name is empty")
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        raise UsageError(f"{option}: the name {name!r} holds control characters")
    if name == UNKNOWN:
        raise UsageError(f"{option}: '{UNKNOWN}' stands for nobody; choose another name")
    return name
