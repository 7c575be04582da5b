from __future__ import annotations

import pytest
from huggingface_hub.errors import StrictDataclassFieldValidationError

from murmur_cli.asr.library_error import reason_of


def field_error(text: str) -> StrictDataclassFieldValidationError:
    return StrictDataclassFieldValidationError("heads", TypeError(text))


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError("No such head. See https://example.org for more"), "No such head"),
        (ValueError("Bad shapes:\n  3 and 5\n  4 and 6"), "Bad shapes: 3 and 5"),
        (OSError("Cannot read\nmore"), "Cannot read"),
        (KeyError("wavy"), "KeyError 'wavy'"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError division by zero"),
        (ValueError(""), "ValueError"),
        (
            field_error("Field 'heads' expected int, got str (value: 'x')"),
            "Validation error for field 'heads': TypeError: Field 'heads' expected int, got str "
            "(value: 'x')",
        ),
        (
            field_error(
                "Field 'heads' with value 'x' doesn't match any type in (<class 'int'>, <class "
                "'NoneType'>). Errors: Field 'heads' expected int, got str (value: 'x')"
            ),
            "field 'heads' of its configuration is 'x', of a wrong type",
        ),
        (
            field_error(
                f"Field 'heads' with value {['long'] * 30} doesn't match any type in (list[int])."
            ),
            "field 'heads' of its configuration is ['long', 'long', 'long', 'long', 'long'…, of a "
            "wrong type",
        ),
        (
            field_error("Field 'heads' with value 'a\n b' doesn't match any type in (int, str)."),
            "field 'heads' of its configuration is 'a b', of a wrong type",
        ),
    ],
)
def test_reason_when_a_library_says_much_then_the_first_words_of_it(
    error: Exception, reason: str
) -> None:
    assert reason_of(error) == reason
