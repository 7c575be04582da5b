"""A library's error over the files of a model, told in a few words of one line."""

from __future__ import annotations

import re

SAYS_LITTLE = (KeyError, TypeError, AttributeError, ArithmeticError)
"""Kinds whose text alone is a bare name or number."""

MOST_SHOWN = 40
"""Characters of a wrong value."""

# Of huggingface_hub's checked configurations; a list of all types that were tried would follow.
_FIELD = re.compile(
    r"Validation error for field '(?P<field>[^'\n]+)':\s*\w+: "
    r"Field '[^'\n]+' with value (?P<value>.*) doesn't match any type in ",
    re.DOTALL,
)


def reason_of(error: Exception) -> str:
    """The first sentence, with the error's kind where the text alone says little; of a field of a
    configuration its name and value."""
    text = str(error).strip()
    if (of_field := _FIELD.match(text)) is not None:
        value = " ".join(of_field["value"].split())
        value = value if len(value) <= MOST_SHOWN else f"{value[: MOST_SHOWN - 1]}…"
        return f"field '{of_field['field']}' of its configuration is {value}, of a wrong type"
    lines = [part.strip() for part in text.splitlines()] or [""]
    line = lines[0].split(". ")[0]
    if line.endswith(":") and len(lines) > 1:
        line = f"{line} {lines[1]}"
    is_plain = line and not isinstance(error, SAYS_LITTLE)
    return line if is_plain else f"{type(error).__name__} {line}".strip()
