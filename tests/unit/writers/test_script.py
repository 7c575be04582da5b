import pytest

from murmur_cli.writers.script import (
    display_width,
    is_right_to_left,
    may_break_before,
)


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("今天", 4), ("e\u0301", 1), ("\u2068A\u2069", 1), ("ｱ", 1), ("", 0)],
)
def test_display_width_when_full_width_then_two_columns(text, columns):
    assert display_width(text) == columns


@pytest.mark.parametrize(
    ("left", "right", "allowed"),
    [
        ("今", "天", True),
        ("好", "，", False),  # no comma at the start of a line
        ("（", "今", False),  # no opening bracket at the end of one
        ("，", "我", True),
        ("ab", "cd", False),
        ("ที่", "นี่", True),
        ("เ", "ท", False),  # a vowel written first stays with its consonant
        ("ท", "\u0e35", False),  # nor does a mark leave its base
        ("안", "녕", False),
    ],
)
def test_may_break_before_when_script_sets_no_spaces_then_between_syllables(left, right, allowed):
    assert may_break_before(left, right) is allowed


def test_is_right_to_left_when_first_letter_decides():
    assert is_right_to_left("12 مرحبا hello")
    assert is_right_to_left("שלום")
    assert not is_right_to_left("hello مرحبا")
    assert not is_right_to_left("123")
