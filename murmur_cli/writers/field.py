"""Names and words as fields of formats whose columns are separated by white space."""

import re
import unicodedata

UNKNOWN_SPEAKER = "unknown"
"""Stands for a speaker that is not known, in formats that must name one."""

_ESCAPE_LOOKALIKE = re.compile(r"%(?=[0-9A-Fa-f]{2})")


def escape_field(name: str) -> str:
    """The name without white space or control characters, different names staying different.

    White space, control characters and a leading ';' (a comment mark) become the percent signs
    and hex digits of their UTF-8 bytes, as in a URL; a '%' becomes '%25' only where two hex
    digits follow it. Thus `urllib.parse.unquote` gives the name back and `100%d` stays as it is.
    """
    assert name, "a field cannot be empty"
    escaped = _ESCAPE_LOOKALIKE.sub("%25", name)
    return "".join(
        _percent(char) if _must_hide(char) or (at == 0 and char == ";") else char
        for at, char in enumerate(escaped)
    )


def one_line(text: str) -> str:
    """The text with every run of white space as one space, none at the ends."""
    return " ".join(text.split())


def _must_hide(char: str) -> bool:
    # Cc: control, Cs: undecodable byte of a file name.
    return char.isspace() or unicodedata.category(char) in ("Cc", "Cs")


def _percent(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
