"""Which token wrote which character, with a byte-level tokenizer."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from murmur_cli.asr.speech_llm.answer_text import AnswerText, decoded_text


def by_bytes(tokens: Sequence[int]) -> str:
    return bytes(tokens).decode("utf-8", errors="replace")


def test_text_when_every_byte_is_a_token_then_a_character_ends_with_its_last() -> None:
    text = decoded_text("aé 好.".encode(), by_bytes)
    assert text.text == "aé 好."
    # a, two bytes of é, a space (which the next token writes), three of 好, the full stop
    assert text.ends == (1, 1, 2, 2, 2, 2, 4, 5)
    assert [text.token_at(place) for place in range(5)] == [0, 2, 6, 6, 7]


def test_text_when_bytes_are_no_characters_then_it_ends_all_the_same() -> None:
    tokens = [0xE5] * 50 + list(b"ok")
    text = decoded_text(tokens, by_bytes)
    assert len(text.ends) == len(tokens)
    assert text.ends[-1] == len(text.text)


def test_share_when_a_token_holds_several_characters_then_those_before() -> None:
    text = AnswerText("abcdef", (2, 6))
    assert [text.share_before(place) for place in range(6)] == [0.0, 0.5, 0.0, 0.25, 0.5, 0.75]


JSON = '[{"Start":0,"Content":"Start"},{"Start":2,"Content":"a \\"b\\" é\\u00e9"}]'


@pytest.mark.parametrize(
    ("text", "start", "found"),
    [
        ("Start", 10, "Start"),
        ('a "b" éé', 30, None),  # escaped in two ways
        ("zzz", 0, None),
    ],
)
def test_find_in_a_list_of_segments(text: str, start: int, found: str | None) -> None:
    span = AnswerText(JSON, ()).find(text, start)
    assert (None if span is None else JSON[slice(*span)]) == found
    if text == "Start":
        assert span == (23, 28)  # the text, not the key before it


def test_find_when_escaped_then_where_the_escaped_form_stands() -> None:
    for raw in ('{"Content":"so \\"Zoë\\""}', '{"Content":"so \\"Zo\\u00eb\\""}'):
        span = AnswerText(raw, ()).find('so "Zoë"', 0)
        assert span is not None
        assert (raw[span[0] - 1], raw[span[1]]) == ('"', '"')
        places = AnswerText(raw, ()).places_of('so "Zoë"', span)
        assert [raw[place] for place in places[:6]] == ["s", "o", " ", '"', "Z", "o"]
        assert places == sorted(places)
        assert raw[places[-1]] == '"'
