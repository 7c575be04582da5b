"""Stitching depends on what was said when, and on nothing else."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import ChunkDiarization, LocalSpeaker, SpeakerHints, SpeakerTimeline
from support.voices import local_chunk, person

HINTS = st.sampled_from(
    [
        SpeakerHints(),
        SpeakerHints(exact=2),
        SpeakerHints(minimum=3),
        SpeakerHints(maximum=2),
        SpeakerHints(minimum=2, maximum=4),
    ]
)


@st.composite
def recordings(draw: st.DrawFn) -> list[ChunkDiarization]:
    """Up to 5 chunks of up to 4 voices of 5 people, some without an embedding."""
    chunks = []
    for index in range(draw(st.integers(1, 5))):
        people = draw(st.lists(st.integers(0, 4), max_size=4))
        voices = []
        for order, who in enumerate(people):
            start = index * 100 + draw(st.integers(0, 80))
            spans = [(float(start), start + draw(st.integers(1, 9)) + order / 16)]
            noise = draw(st.sampled_from([0.0, 0.3, 0.9]))
            vector = person(who, noise, seed=index * 10 + order)
            known = draw(st.integers(0, 5)) > 0
            voices.append((spans, vector if known else None, draw(st.integers(0, 60)) / 4))
        chunks.append(local_chunk(index, voices))
    return chunks


@st.composite
def told_turns(draw: st.DrawFn) -> list[ChunkDiarization]:
    """Chunks of voices with several turns, each turn with a voice of its own."""
    chunks = []
    for index in range(draw(st.integers(1, 4))):
        voices, sounds = [], {}
        for order in range(draw(st.integers(1, 3))):
            who, spans = draw(st.integers(0, 3)), []
            for turn in range(draw(st.integers(1, 3))):
                start = index * 100 + turn * 20 + draw(st.integers(0, 9)) + order / 16
                span = (start, start + draw(st.integers(1, 9)))
                spans.append(span)
                if draw(st.integers(0, 4)):
                    other = draw(st.integers(0, 3)) if draw(st.booleans()) else who
                    sounds[span] = person(other, 0.3, seed=turn)
            voices.append((spans, person(who, 0.3, seed=order), draw(st.integers(1, 40)) / 4))
        chunks.append(local_chunk(index, voices, sounds=sounds))
    return chunks


@given(told_turns(), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_stitch_when_turns_move_then_no_order_matters_and_nobody_is_lost(chunks, random) -> None:
    timeline = stitch(chunks, SpeakerHints())
    shuffled = []
    for chunk in random.sample(chunks, len(chunks)):
        order = list(range(len(chunk.speakers)))
        random.shuffle(order)
        shuffled.append(_renumbered(chunk, order))
    assert _without_numbers(stitch(shuffled, SpeakerHints())) == _without_numbers(timeline)
    assert {turn.speaker for turn in timeline.turns} == set(timeline.speakers)
    spoken = sum(turn.span.duration_s for chunk in chunks for turn in chunk.turns)
    assert sum(turn.span.duration_s for turn in timeline.turns) <= spoken + 1e-6
    for decision in timeline.decisions:
        for moved in decision.moved:
            assert moved.speaker != decision.speaker
            assert moved.margin > 0.0


def _renumbered(chunk: ChunkDiarization, order: list[int]) -> ChunkDiarization:
    return ChunkDiarization(
        chunk.chunk_index,
        tuple(replace(turn, local_speaker=order[turn.local_speaker]) for turn in chunk.turns),
        tuple(replace(who, local_speaker=order[who.local_speaker]) for who in chunk.speakers),
    )


def _without_numbers(timeline: SpeakerTimeline) -> SpeakerTimeline:
    return replace(
        timeline, decisions=tuple(replace(row, local_speaker=0) for row in timeline.decisions)
    )


@given(recordings(), HINTS, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_stitch_when_chunks_are_shuffled_then_same_result(chunks, hints, random) -> None:
    shuffled = list(chunks)
    random.shuffle(shuffled)
    assert stitch(shuffled, hints) == stitch(chunks, hints)


@given(recordings(), HINTS, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_stitch_when_local_speakers_are_renumbered_then_same_result(chunks, hints, random) -> None:
    renumbered = []
    for chunk in chunks:
        order = list(range(len(chunk.speakers)))
        random.shuffle(order)
        renumbered.append(_renumbered(chunk, order))
    expected = _without_numbers(stitch(chunks, hints))
    assert _without_numbers(stitch(renumbered, hints)) == expected


@given(recordings(), HINTS)
@settings(deadline=None, max_examples=60)
def test_stitch_when_done_then_every_turn_has_one_speaker_and_none_is_lost(chunks, hints) -> None:
    timeline = stitch(chunks, hints)
    speaker_of = {(row.chunk_index, row.local_speaker): row.speaker for row in timeline.decisions}
    for chunk in chunks:
        mine = [speaker_of[chunk.chunk_index, who.local_speaker] for who in chunk.speakers]
        assert len(set(mine)) == len(mine), "two voices of a chunk became one speaker"
        for turn in chunk.turns:
            assert any(
                found.speaker == speaker_of[chunk.chunk_index, turn.local_speaker]
                and found.span.start_s <= turn.span.start_s
                and found.span.end_s >= turn.span.end_s
                for found in timeline.turns
            )
    assert list(timeline.turns) == sorted(timeline.turns)
    first_speech = {}
    for turn in timeline.turns:
        first_speech.setdefault(turn.speaker, turn.span.start_s)
    assert set(first_speech) == set(timeline.speakers)
    assert [first_speech[name] for name in timeline.speakers] == sorted(first_speech.values())
    for before, after in zip(timeline.turns, timeline.turns[1:], strict=False):
        if before.speaker == after.speaker:
            assert before.span.end_s < after.span.start_s


@given(recordings(), HINTS)
@settings(deadline=None, max_examples=60)
def test_stitch_when_hints_fail_then_and_only_then_a_warning(chunks, hints) -> None:
    timeline = stitch(chunks, hints)
    low = hints.minimum if hints.exact is None else hints.exact
    high = hints.maximum if hints.exact is None else hints.exact
    count = len(timeline.speakers)
    missed = (low is not None and count < low) or (high is not None and count > high)
    shortfalls = [line for line in timeline.warnings if line.startswith("--")]
    assert bool(shortfalls) == missed
    others = [line for line in timeline.warnings if line not in shortfalls]
    assert all("sound like one person" in line or "may be no person" in line for line in others)


@given(recordings())
@settings(deadline=None, max_examples=30)
def test_stitch_when_speaker_never_talks_then_result_is_unchanged(chunks) -> None:
    silent = LocalSpeaker(chunks[0].chunk_index, 99, 5.0, person(0))
    extended = [replace(chunks[0], speakers=(*chunks[0].speakers, silent)), *chunks[1:]]
    assert stitch(extended, SpeakerHints()) == stitch(chunks, SpeakerHints())
