"""Spellings. Expected values: by hand, and for chime8 the examples of MeetEval and chime-utils."""

from __future__ import annotations

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.scoring.normalizers.registry import NORMALIZERS, make_normalizer

# MeetEval's own example of its normalisers.
MEETEVAL = (
    'Hello, World! äèア😊 hm hmm hmmm [noise] [inaudible] wi-fi word-word 1.1 11 Mr. then," said'
)


def _text(name: str, text: str, **options: object) -> str:
    return " ".join(make_normalizer(name, **options).words(text))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NORMALIZERS)
def test_words_when_text_is_blank_then_there_are_none(name: str) -> None:
    assert make_normalizer(name).words("  ") == []


@pytest.mark.parametrize("name", NORMALIZERS)
def test_words_when_normalised_again_then_nothing_changes(name: str) -> None:
    once = _text(name, "Well, um – it's 3.5 uh-huh: we're goin' [noise] O'Neill!")
    assert _text(name, once) == once


def test_none_when_text_has_case_and_marks_then_they_stay() -> None:
    assert _text("none", "Well,  um [noise]") == "Well, um [noise]"


def test_basic_when_text_has_tags_marks_and_fillers_then_words_are_left() -> None:
    text = "Well, Um – it’s MM-hmm 3.5! [laughs] <unk> Uh-huh 'quoted'"
    assert _text("basic", text) == "well it's 3 5 'quoted'"


def test_basic_when_fillers_are_kept_then_they_are_words() -> None:
    assert _text("basic", "Um, uh-huh", keep_fillers=True) == "um uh huh"


def test_basic_when_the_language_is_german_then_english_fillers_are_words() -> None:
    assert _text("basic", "Er kam um acht", language="de") == "er kam um acht"


def test_basic_when_vowels_are_marks_then_words_stay_whole() -> None:
    assert make_normalizer("basic").words("मैं हूँ।") == ["मैं", "हूँ"]


@pytest.mark.parametrize("name", ["none", "basic", "whisper"])
def test_words_when_a_script_sets_no_spaces_then_every_character_counts(name: str) -> None:
    words = make_normalizer(name).words("今天 okay 天气很好")
    assert words == ["今", "天", "okay", "天", "气", "很", "好"]


def test_words_when_they_are_korean_then_spaces_part_them() -> None:
    assert make_normalizer("basic").words("안녕하세요 여러분") == ["안녕하세요", "여러분"]


def test_whisper_when_english_then_its_own_rules() -> None:
    text = "Um, I'm payin' twenty five dollars, it's Mr. Smith's favourite colour [noise]"
    assert _text("whisper", text) == ("i am payin $25 it is mister smith is favorite color")


def test_whisper_when_another_language_then_its_basic_rules() -> None:
    assert (
        _text("whisper", "Er kam um acht, (leise) schön!", language="de") == "er kam um acht schön"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # MeetEval's doctest, which has 'aeア' for the first odd word; ア is a character of its own.
        (MEETEVAL, "hello world ae ア wifi word word 1.1 eleven mister then said"),
        # chime-utils' tests of the rules that it kept, and NeMo's tests of the odd ones.
        ("shan't", "shall not"),
        ("han't", "has not"),
        ("Let's", "let us"),
        ("he's like", "he is like"),
        ("she's been like", "she has been like"),
        (
            "Mr. Park visited Assoc. Prof. Kim Jr.",
            "mister park visited associate professor kim junior",
        ),
        ("oh [unintelligible] one of the most", "oh one of the most"),
        ("ohhh wow", "oh wow"),
        ("wi fi", "wifi"),
        ("like 500 dollars per head", "like five hundred dollars per head"),
        ("ummm hmmm uhh", ""),
        ("ain't", "ain not"),
        ("sci-fi", "swifi"),
        ("1000", "thousand"),
        ("1500", "1500"),
        ("It cost 1000 dollars", "it cost thousand dollars"),
        ("Okay..", "ok"),
        ("archaeology", "archeology"),
        # By hand, from the rules.
        ("$20 and 50%", "twenty dollars and fifty percent"),
        ("342 of 119", "three hundred forty two of one hundred nineteen"),
        ("the 3rd and the 90s", "the third and the nineties"),
        ("2,000 colours", "2000 colors"),
    ],
)
def test_chime8_when_given_published_examples_then_as_published(text: str, expected: str) -> None:
    assert _text("chime8", text) == expected


def test_normalizer_when_unknown_then_the_known_ones_are_told() -> None:
    with pytest.raises(UsageError, match="none, basic, whisper, chime8"):
        make_normalizer("chime9")


def test_normalizer_when_its_rules_are_not_for_the_language_then_it_is_refused() -> None:
    with pytest.raises(UsageError, match="for English"):
        make_normalizer("chime8", language="de")


def test_normalizer_when_fillers_are_to_be_kept_against_its_rules_then_it_is_refused() -> None:
    with pytest.raises(UsageError, match="--keep-fillers"):
        make_normalizer("whisper", keep_fillers=True)


@pytest.mark.parametrize("name", NORMALIZERS)
def test_description_when_read_then_one_line_without_paths(name: str) -> None:
    description = make_normalizer(name).description
    assert description
    assert "\n" not in description
    assert "/site-packages" not in description
