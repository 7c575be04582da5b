"""Words of texts in many scripts, and their places in time, worked out by hand."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.text_words import split_text, spread_words
from murmur_cli.types import SampleSpan, TimeSpan, join_words


def joined(text: str) -> str:
    """The words with '|' where no space is between two."""
    parts = []
    for word in split_text(text):
        if parts:
            parts.append(" " if word.space_before else "|")
        parts.append(word.text)
    return "".join(parts)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ""),
        ("  \n ", ""),
        ("Well,  hello\nthere. ", "Well, hello there."),
        ("it's well-known: 3.5 %", "it's well-known: 3.5 %"),
        ("Bonjour\u00a0! Ça va ? « Oui »\u202f: non…", "Bonjour! Ça va? « Oui»: non…"),
        ("so - yes", "so - yes"),
        ("! so", "! so"),
        ("你好，世界。", "你|好，|世|界。"),
        ("3月5日", "3|月|5|日"),
        ("これはABCです", "こ|れ|は|ABC|で|す"),
        ("カ\u3099ス", "カ\u3099|ス"),  # a mark of its own on the first
        ("สวัสดี ครับ", "ส|วั|ส|ดี ค|รั|บ"),
        ("안녕하세요 여러분 ㅋㅋㅋ", "안녕하세요 여러분 ㅋㅋㅋ"),
        (unicodedata.normalize("NFD", "안녕 하"), unicodedata.normalize("NFD", "안녕 하")),
        ("OK👍 good 👩‍👩‍👧", "OK👍 good 👩‍👩‍👧"),
        ("we said 你好 twice", "we said 你|好 twice"),
        ("مرحبا بكم، نعم", "مرحبا بكم، نعم"),
        ("Zoe\u0308 na\u0131ve", "Zoe\u0308 na\u0131ve"),
    ],
)
def test_text_when_split_then_its_words(text: str, words: str) -> None:
    assert joined(text) == words


@settings(deadline=None, max_examples=100)
@given(
    st.text(
        st.one_of(
            st.characters(exclude_categories=["Cs"]),
            st.sampled_from(" \u00a0.,!?«»「」你好กัสวัか\u3099ㅋ안👍\ufe0f\u200dab1"),
        ),
        max_size=30,
    )
)
def test_text_when_split_then_every_visible_character_once(text: str) -> None:
    words = split_text(text)
    assert "".join(word.text for word in words) == "".join(text.split())
    assert all(word.text for word in words)
    assert not any(word.space_before for word in words[:1])


# --- times --------------------------------------------------------------------------------------


def spans(*times_s: tuple[float, float]) -> list[SampleSpan]:
    return [SampleSpan(round(a * 16_000), round(b * 16_000)) for a, b in times_s]


def spread(
    text: str, span: tuple[float, float], *speech: tuple[float, float]
) -> list[tuple[str, float, float]]:
    return [
        (word.text, pytest.approx(word.span.start_s), pytest.approx(word.span.end_s))
        for word in spread_words(text, TimeSpan(*span), spans(*speech), None)
    ]


def test_words_when_speech_has_a_pause_then_it_holds_none() -> None:
    """10 letters over 2 s + 3 s of speech: half a second each; the pause begins after 4."""
    assert spread("ab cd efg hij", (10.0, 20.0), (9.0, 12.0), (17.0, 25.0)) == [
        ("ab", 10.0, 11.0),
        ("cd", 11.0, 12.0),
        ("efg", 17.0, 18.5),
        ("hij", 18.5, 20.0),
    ]


def test_word_when_it_would_reach_over_a_pause_then_where_more_of_it_is() -> None:
    """6 letters over 2 s + 4 s: the second word has 1 s before the pause and 2 s after."""
    assert spread("a bcd ef", (0.0, 34.0), (0.0, 2.0), (30.0, 34.0)) == [
        ("a", 0.0, 1.0),
        ("bcd", 30.0, 32.0),
        ("ef", 32.0, 34.0),
    ]


def test_word_when_alone_then_all_of_the_speech_in_a_row() -> None:
    assert spread("hello", (1.0, 3.0), (0.0, 60.0)) == [("hello", 1.0, 3.0)]


def test_words_when_no_speech_was_detected_in_the_span_then_over_all_of_it() -> None:
    assert spread("ab cd", (4.0, 6.0), (0.0, 4.0), (6.0, 9.0)) == [
        ("ab", 4.0, 5.0),
        ("cd", 5.0, 6.0),
    ]
    assert spread("ab cd", (4.0, 6.0), (5.95, 9.0)) == [("ab", 4.0, 5.0), ("cd", 5.0, 6.0)]


def test_words_when_the_span_has_no_length_then_all_at_its_time() -> None:
    assert spread("ab cd", (4.0, 4.0), (0.0, 60.0)) == [("ab", 4.0, 4.0), ("cd", 4.0, 4.0)]


def test_words_when_spread_then_probability_and_spaces_are_kept() -> None:
    words = spread_words("好 a", TimeSpan(0.0, 2.0), (), 0.5)
    assert [(word.text, word.space_before, word.probability) for word in words] == [
        ("好", False, 0.5),
        ("a", True, 0.5),
    ]
    assert join_words(words) == "好 a"


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.text("ab", min_size=1, max_size=9), min_size=1, max_size=30),
    st.lists(st.integers(1, 4000), min_size=1, max_size=12),
    st.integers(0, 9000),
    st.integers(1, 9000),
)
def test_words_when_spread_then_in_order_and_none_over_a_pause(
    texts: list[str], lengths: list[int], start: int, length: int
) -> None:
    edges = [sum(lengths[:at]) for at in range(len(lengths) + 1)]
    speech = [SampleSpan(a, b) for a, b in zip(edges[::2], edges[1::2], strict=False)]
    span = SampleSpan(start, start + length).time
    words = spread_words(" ".join(texts), span, speech, None)
    assert [word.text for word in words] == texts
    at_s = span.start_s
    for word in words:
        assert word.span.start_s >= at_s - 1e-9
        assert word.span.end_s <= span.end_s + 1e-9
        at_s = word.span.end_s
    heard = [each.time for each in speech if each.time.overlap_s(span) > 0]
    if sum(each.overlap_s(span) for each in heard) >= 0.1 + 1e-9:
        for word in words:
            assert any(
                each.start_s - 1e-9 <= word.span.start_s and word.span.end_s <= each.end_s + 1e-9
                for each in heard
            )
