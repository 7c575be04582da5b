"""Lists of segments: exact when valid, whole segments when cut, nothing lost when damaged."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.family import SpokenSegment
from murmur_cli.asr.speech_llm.segment_json import read_segments

PROPERTY = settings(deadline=None, max_examples=50)

MARKS = ['"', "'", "“", "”", "{", "}", "[", "]", ",", ":", "\\", "\n", " ", "```", "\\u00e9"]
FRAMES = ['"Start":', '"End": 1', '{"Start":2', '"Speaker":0', '"Content":"', "'text': '", '"},']
# Without a first letter that a backslash before it would make an escape.
WORDS = st.integers(0, 999).map(lambda number: f"zq{number}qz")

characters = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
texts = st.lists(characters | st.sampled_from(MARKS + FRAMES), max_size=6).map("".join)
times = st.none() | st.floats(0.0, 86_400.0) | st.integers(0, 86_400).map(float)
segments = st.builds(SpokenSegment, texts, times, times, st.none() | st.integers(0, 99))


@st.composite
def objects(draw: st.DrawFn) -> tuple[SpokenSegment, str]:
    """A segment and valid JSON of it."""
    segment = draw(segments)
    pairs = [
        ("Start", segment.start_s),
        ("End", segment.end_s),
        ("Speaker", segment.speaker),
        ("Content", segment.text),
    ]
    text = json.dumps(
        dict(draw(st.permutations(pairs))),
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1])),
        separators=draw(st.sampled_from([(",", ":"), (", ", ": ")])),
    )
    return segment, text


def plain(segment: SpokenSegment) -> tuple[str, float | None, float | None, int | None]:
    return segment.text, segment.start_s, segment.end_s, segment.speaker


def dense(text: str) -> str:
    return "".join(text.replace(",", " ").split())


@PROPERTY
@given(st.lists(objects(), max_size=5), st.sampled_from(["", "assistant\n", "```json\n"]))
def test_list_when_valid_then_read_exactly(
    parts: list[tuple[SpokenSegment, str]], before: str
) -> None:
    text = before + "[" + ",".join(text for _, text in parts) + "]\n"
    output = read_segments(text, is_cut=False)
    assert [plain(one) for one in output.segments] == [plain(one) for one, _ in parts]
    assert (output.is_whole, output.unreadable) == (True, "")


@PROPERTY
@given(st.lists(objects(), min_size=1, max_size=3), st.booleans())
def test_list_when_cut_anywhere_then_exactly_the_whole_segments(
    parts: list[tuple[SpokenSegment, str]], is_cut: bool
) -> None:
    text = "["
    ends: list[int] = []
    for _, part in parts:
        text += ("," if ends else "") + part
        ends.append(len(text))
    for length in range(1, len(text) + 1):
        output = read_segments(text[:length], is_cut=is_cut)
        whole = [plain(one) for (one, _), end in zip(parts, ends, strict=True) if end <= length]
        assert [plain(one) for one in output.segments] == whole
        assert not output.is_whole
        begun = dense(text[max([1, *(end for end in ends if end <= length)]) : length])
        assert dense(output.unreadable).removeprefix("[") in ("", begun)
        assert output.unreadable or not any(character.isalnum() for character in begun)


@PROPERTY
@given(st.text(), st.booleans())
def test_text_when_arbitrary_then_read(text: str, is_cut: bool) -> None:
    output = read_segments(text, is_cut=is_cut)
    assert not (output.is_whole and (is_cut or output.unreadable))


@settings(deadline=None, max_examples=400)
@given(st.lists(WORDS | st.sampled_from(MARKS + FRAMES), max_size=40), st.booleans())
def test_text_when_damaged_then_no_word_is_lost(pieces: list[str], is_cut: bool) -> None:
    output = read_segments("".join(pieces), is_cut=is_cut)
    kept = "\n".join([*(segment.text for segment in output.segments), output.unreadable])
    for piece in pieces:
        assert not piece.startswith("zq") or piece in kept
