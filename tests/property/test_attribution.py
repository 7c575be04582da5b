"""Any words, any turns: nothing is lost, every time is legal, speakers come from the turns."""

from __future__ import annotations

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.attribution.speaker_index import SpeakerIndex
from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.types import TimeSpan
from support.factories import (
    make_chunk_transcript,
    make_segment,
    make_timeline,
    make_word,
)

_EXAMPLES = settings(deadline=None, max_examples=50)
_TIMES_S = st.one_of(st.floats(-5, 40), st.sampled_from([0.0, 5.0, 5.0, 30.0, 1e9, float("inf")]))
_WORDS = st.lists(st.tuples(st.sampled_from("abcde"), _TIMES_S, _TIMES_S), max_size=30)
_TURNS = st.lists(
    st.tuples(st.floats(0, 29), st.floats(0.001, 10), st.sampled_from(["A", "B", "C"])),
    max_size=10,
)


def _chunks(words, cut):
    made = [make_word(f"{text}{at}", min(s, e), max(s, e)) for at, (text, s, e) in enumerate(words)]
    parts = [made[:cut], made[cut:]]
    return [
        make_chunk_transcript(
            [make_segment("", 0, 30, words=part, chunk_index=index)] if part else [], index
        )
        for index, part in enumerate(parts)
    ]


@_EXAMPLES
@given(_WORDS, _TURNS, st.integers(0, 30), st.floats(0.05, 60))
def test_attribute_when_anything_is_given_then_words_are_kept_and_times_legal(
    words, turns, cut, duration_s
):
    chunks = _chunks(words, cut)
    timeline = make_timeline(*[(s, s + length, name) for s, length, name in turns])
    segments = attribute(chunks, timeline, duration_s)
    made = [word for segment in segments for word in segment.words]
    assert [word.text for word in made] == [
        word.text for chunk in chunks for part in chunk.segments for word in part.words
    ]
    without = [word for part in attribute(chunks, None, duration_s) for word in part.words]
    assert [(w.text, w.span.start_s) for w in made] == [(w.text, w.span.start_s) for w in without]
    starts_s = [word.span.start_s for word in made]
    assert starts_s == sorted(starts_s)
    assert all(0 <= w.span.start_s < w.span.end_s <= duration_s for w in made)
    for segment in segments:
        assert {word.speaker for word in segment.words} == {segment.speaker}
        assert segment.span.start_s == segment.words[0].span.start_s
        assert segment.span.end_s == max(word.span.end_s for word in segment.words)
        assert segment.speaker is None or segment.speaker in timeline.speakers
    for speaker in {word.speaker for word in made}:
        own = [word.span for word in made if word.speaker == speaker]
        assert all(a.end_s <= b.start_s for a, b in itertools.pairwise(own))


@_EXAMPLES
@given(_TURNS, st.floats(0, 40), st.floats(0.01, 5))
def test_speaker_index_when_asked_then_same_as_going_through_all_turns(turns, start_s, length_s):
    turns = make_timeline(*[(s, s + length, name) for s, length, name in turns]).turns
    span, index = TimeSpan(start_s, start_s + length_s), SpeakerIndex(turns)
    for name in {turn.speaker for turn in turns}:
        own = [turn.span for turn in turns if turn.speaker == name]
        # Measure of the union, by its own edges.
        edges = sorted({span.start_s, span.end_s} | {t for o in own for t in (o.start_s, o.end_s)})
        covered_s = sum(
            right - left
            for left, right in itertools.pairwise(edges)
            if span.start_s <= left
            and right <= span.end_s
            and any(o.start_s <= left and right <= o.end_s for o in own)
        )
        assert abs(index.overlaps_s(span).get(name, 0.0) - covered_s) < 1e-9
        assert abs(index.gaps_s(span)[name] - min(span.gap_s(o) for o in own)) < 1e-9
