"""The way of one chunk: what is kept, what is asked again, what is given up and put on record."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.chunk_task import (
    MAX_REQUESTS,
    MIN_REST_S,
    MIN_UNANSWERED_S,
)
from murmur_cli.asr.speech_llm.family import Ask
from murmur_cli.asr.speech_llm.placed_segments import place_segments
from murmur_cli.engine.request import Request, StopReason
from murmur_cli.settings import RETRY_TEMPERATURE
from murmur_cli.types import Chunk, Flag, SampleSpan, TimeSpan
from support.scripted_speech_llm import (
    CEILING,
    END,
    LENGTH,
    LOOP,
    Answer,
    Led,
    chunk_of,
    led,
    said,
)

MINUTE = chunk_of((0.0, 60.0))
HALF = said("so this is the first half of it", 0.0, 30.0, 0)
REST = said("and this is the second half of it", 0.0, 30.0, 1)
CUTS = [LENGTH, CEILING, LOOP]


# --- whole answers ------------------------------------------------------------------------------


def test_answer_when_whole_then_its_segments_and_nothing_else() -> None:
    done = led(
        MINUTE,
        Answer((HALF, said("and this is the second half of it", 30.0, 60.0, 1)), language="en"),
    )
    assert done.asked == [((0.0, 60.0),)]
    assert [
        (segment.text, segment.span, segment.local_speaker, segment.part, segment.language)
        for segment in done.task.segments
    ] == [
        (HALF.text, TimeSpan(0.0, 30.0), 0, 0, "en"),
        (REST.text, TimeSpan(30.0, 60.0), 1, 0, "en"),
    ]
    assert (done.task.flags, done.rejected, done.untranscribed) == ([], [], [])
    assert (done.task.tokens, done.task.kv.steps, done.task.loops) == (5, 5, 0)
    assert done.task.languages == ["en"]


def test_request_when_made_then_greedy_and_with_what_was_asked() -> None:
    ask = Ask(0.0, language="de", task="translate", context="Zoë")
    done = led(MINUTE, Answer((said("x" * 60, 0.0, 60.0),), language="en"), ask=ask)
    (request,) = done.requests
    assert (request.temperature, request.audio_s, request.max_new_tokens) == (0.0, 60.0, 100)
    assert (request.prompt, request.suffix) == ((1, 2), (3,))
    assert done.family.asked == [Ask(60.0, language="de", task="translate", context="Zoë")]
    assert done.task.segments[0].language == "de"  # what the user says stands


def test_times_when_pieces_have_a_gap_then_those_of_the_recording() -> None:
    """Second 5 of the audio is second 25 of the recording: 4 s of the first piece are heard."""
    chunk = chunk_of((0.0, 4.0), (24.0, 30.0), pieces=[(0.0, 4.0), (24.0, 30.0)])
    done = led(chunk, Answer((said("one two", 0.0, 4.0), said("three", 5.0, 10.0))))
    assert [segment.span for segment in done.task.segments] == [
        TimeSpan(0.0, 4.0),
        TimeSpan(25.0, 30.0),
    ]


@pytest.mark.parametrize("text", ["[Silence]", "[Music]"])
def test_event_when_told_then_answered_without_words(text: str) -> None:
    done = led(MINUTE, Answer((HALF, said(text, 30.0, 60.0))))
    assert done.texts == [HALF.text]
    assert (done.task.flags, done.untranscribed) == ([], [])


def test_text_when_unlikely_then_flagged() -> None:
    done = led(MINUTE, Answer((said("x" * 60, 0.0, 60.0),), logprob=-1.5))
    assert done.task.flags == [Flag.LOW_CONFIDENCE]
    assert done.task.segments[0].flags == (Flag.LOW_CONFIDENCE,)


def test_text_when_only_its_loop_is_unlikely_or_sure_then_that_does_not_count() -> None:
    """Tokens 6 to 26 of a loop are cut; the five that are kept say how sure the text is."""
    done = led(MINUTE, Answer((HALF,), LOOP), then=lambda request: Answer((REST,)))
    assert len(done.task.logprobs) == 6 + 6


# --- times --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start_s", "end_s", "span", "flags"),
    [
        (20.0, 60.1, TimeSpan(20.0, 60.0), ()),  # rounding
        (20.0, 75.0, TimeSpan(20.0, 60.0), (Flag.TIME_OUT_OF_RANGE,)),
        (20.0, 10.0, TimeSpan(20.0, 60.0), (Flag.TIME_OUT_OF_RANGE,)),
        (-5.0, 60.0, TimeSpan(20.0, 60.0), (Flag.TIME_OUT_OF_RANGE,)),
        (500.0, 510.0, TimeSpan(20.0, 60.0), (Flag.TIME_OUT_OF_RANGE,)),
        (None, None, TimeSpan(20.0, 60.0), ()),
        (None, 50.0, TimeSpan(20.0, 50.0), ()),
        (40.0, None, TimeSpan(40.0, 60.0), ()),
    ],
)
def test_times_of_the_last_segment_when_missing_or_out_of_range_then_clamped_and_flagged(
    start_s: float | None, end_s: float | None, span: TimeSpan, flags: tuple[Flag, ...]
) -> None:
    first = said("a" * 30, 0.0, 20.0)
    done = led(
        MINUTE,
        Answer((first, said("b" * 60, start_s, end_s))),
        then=lambda request: Answer(),
    )
    assert done.task.segments[1].span == span
    assert done.task.segments[1].flags == flags
    assert [flag for flag in done.task.flags if flag is not Flag.INCOMPLETE] == list(flags)


@pytest.mark.parametrize("end_s", [5.0, 9000.0, None])
def test_end_when_it_cannot_be_then_the_next_start(end_s: float | None) -> None:
    done = led(MINUTE, Answer((said("a" * 40, 6.0, end_s), said("b" * 40, 31.0, 60.0))))
    assert [segment.span for segment in done.task.segments] == [
        TimeSpan(6.0, 31.0),
        TimeSpan(31.0, 60.0),
    ]


def test_text_without_any_time_when_the_answer_ended_then_said_once() -> None:
    """A model that forgets the frame answers for all of the audio; asking again would double it."""
    done = led(MINUTE, Answer((said("word " * 30),)))
    assert (done.texts, len(done.requests)) == ([("word " * 30).strip()], 1)


def test_segment_without_a_length_when_placed_then_it_has_one() -> None:
    done = led(MINUTE, Answer((said("a" * 60, 0.0, 60.0), said("yes", 30.0, 30.0, 1))))
    assert done.task.segments[1].span == TimeSpan(30.0, 30.1)


# --- cut off ------------------------------------------------------------------------------------


@pytest.mark.parametrize("stop", CUTS)
def test_answer_when_cut_then_whole_segments_are_kept_and_the_rest_is_asked_again(
    stop: StopReason,
) -> None:
    done = led(MINUTE, Answer((HALF,), stop, unreadable='{"Start":30,'), Answer((REST,)))
    assert done.asked == [((0.0, 60.0),), ((30.0, 60.0),)]
    assert [request.temperature for request in done.requests] == [0.0, 0.0]
    assert [(segment.text, segment.span, segment.part) for segment in done.task.segments] == [
        (HALF.text, TimeSpan(0.0, 30.0), 0),
        (REST.text, TimeSpan(30.0, 60.0), 1),
    ]
    assert done.rejected == ['{"Start":30,']
    assert done.task.rejected[0].span == TimeSpan(0.0, 60.0)
    expected = Flag.LOOP if stop is LOOP else Flag.LENGTH_LIMIT
    assert done.task.flags == [expected, Flag.REJECTED]
    assert done.task.loops == (stop is LOOP)
    assert done.untranscribed == []


def test_answer_when_it_loops_then_read_up_to_the_first_occurrence() -> None:
    done = led(MINUTE, Answer((HALF,), LOOP), Answer((REST,)))
    tokens, is_cut = done.family.reads[0]
    assert (len(tokens), is_cut) == (5, True)
    assert done.task.tokens == 26 + 5  # what was decoded


def test_answer_when_cut_twice_then_each_goes_on_from_its_last_segment() -> None:
    done = led(
        MINUTE,
        Answer((said("a" * 20, 0.0, 20.0),), LENGTH),
        Answer((said("b" * 20, 0.0, 20.0),), LENGTH),
        Answer((said("c" * 20, 0.0, 20.0),)),
    )
    assert done.asked == [((0.0, 60.0),), ((20.0, 60.0),), ((40.0, 60.0),)]
    assert [segment.span.start_s for segment in done.task.segments] == [0.0, 20.0, 40.0]


@pytest.mark.parametrize("stop", CUTS)
def test_answer_when_it_does_not_get_on_then_drawn_once_then_given_up(stop: StopReason) -> None:
    done = led(MINUTE, Answer((HALF,), stop), *[Answer((), stop, unreadable="a h")] * 2)
    assert done.asked == [((0.0, 60.0),), ((30.0, 60.0),), ((30.0, 60.0),)]
    assert [request.temperature for request in done.requests] == [0.0, 0.0, RETRY_TEMPERATURE]
    assert len({request.seed for request in done.requests}) == 3
    assert done.texts == [HALF.text]
    assert done.rejected == ["a h", "a h"]
    assert done.untranscribed == [(30.0, 60.0)]
    assert {Flag.INCOMPLETE, Flag.REJECTED} < set(done.task.flags)


def test_answer_when_cut_in_the_padding_after_speech_then_not_asked_again() -> None:
    chunk = chunk_of((0.0, 30.9), pieces=[(0.0, 60.0)])
    done = led(chunk, Answer((HALF,), LENGTH))
    assert (len(done.requests), done.untranscribed) == (1, [])


@pytest.mark.parametrize("end_s", [None, 9000.0])
def test_last_segment_when_cut_without_an_end_then_its_audio_is_asked_again(
    end_s: float | None,
) -> None:
    """Nobody knows how far it reaches; keeping it would say its words twice."""
    done = led(
        MINUTE,
        Answer((HALF, said("and this", 30.0, end_s)), LENGTH),
        Answer((REST,)),
    )
    assert done.asked == [((0.0, 60.0),), ((30.0, 60.0),)]
    assert (done.texts, done.rejected) == ([HALF.text, REST.text], ["and this"])


# --- skipped ------------------------------------------------------------------------------------


def test_answer_when_it_ends_early_then_the_rest_is_asked_for() -> None:
    done = led(MINUTE, Answer((HALF,)), Answer((REST,)))
    assert done.asked == [((0.0, 60.0),), ((30.0, 60.0),)]
    assert (done.texts, done.task.flags) == ([HALF.text, REST.text], [])


def test_answer_when_it_ends_early_and_nothing_more_comes_then_on_record() -> None:
    done = led(MINUTE, Answer((HALF,)), Answer(), Answer())
    assert (done.texts, done.untranscribed) == ([HALF.text], [(30.0, 60.0)])
    assert done.task.flags == [Flag.INCOMPLETE]


def test_answer_when_it_ends_by_itself_and_little_is_left_then_done() -> None:
    done = led(chunk_of((0.0, 39.9)), Answer((HALF,)))
    assert (len(done.requests), done.task.flags) == (1, [])


def test_answer_when_damaged_then_little_that_is_left_is_asked_for() -> None:
    done = led(
        chunk_of((0.0, 39.9)),
        Answer((HALF,), unreadable='"Content'),
        Answer((said("x", 0.0, 9.9),)),
    )
    assert done.asked[1] == ((30.0, 39.9),)
    assert done.rejected == ['"Content']


def test_gap_when_an_answer_skips_speech_then_that_is_asked_for() -> None:
    first, last = said("a" * 20, 0.0, 20.0), said("c" * 20, 40.0, 60.0)
    done = led(MINUTE, Answer((first, last)), Answer((said("b" * 20, 0.0, 20.0),)))
    assert done.asked == [((0.0, 60.0),), ((20.0, 40.0),)]
    assert done.texts == ["a" * 20, "b" * 20, "c" * 20]
    assert done.task.flags == []


def test_gap_when_nobody_speaks_in_it_then_not_asked_for() -> None:
    chunk = chunk_of((0.0, 20.0), (40.0, 60.0))
    done = led(chunk, Answer((said("a" * 20, 0.0, 20.0), said("c" * 20, 40.0, 60.0))))
    assert len(done.requests) == 1


def test_segment_when_its_end_is_far_from_what_it_says_then_the_rest_is_asked_for() -> None:
    """Two letters account for 5 + 2 s; an end that is a slip would hide 53 s of speech."""
    done = led(MINUTE, Answer((said("hm", 0.0, 60.0),)), then=lambda request: Answer())
    assert done.asked[1] == ((7.0, 60.0),)
    assert done.untranscribed == [(7.0, 60.0)]


@pytest.mark.parametrize("carries_times", [True, False])
def test_chunk_when_it_has_hardly_any_speech_and_no_words_come_then_done(
    carries_times: bool,
) -> None:
    done = led(chunk_of((1.0, 1.8)), Answer(), carries_times=carries_times)
    assert (done.texts, done.task.flags) == ([], [])


@pytest.mark.parametrize("carries_times", [True, False])
def test_answer_when_empty_then_drawn_once_then_given_up(carries_times: bool) -> None:
    done = led(MINUTE, Answer(), Answer(), carries_times=carries_times)
    assert [request.temperature for request in done.requests] == [0.0, RETRY_TEMPERATURE]
    assert done.untranscribed == [(0.0, 60.0)]
    assert done.task.flags == [Flag.INCOMPLETE]


# --- models without times -----------------------------------------------------------------------


def test_untimed_text_when_it_ended_then_spread_over_the_speech() -> None:
    chunk = chunk_of((0.0, 2.0), (10.0, 12.0))
    done = led(chunk, Answer((said("one two"),)), carries_times=False)
    assert [(word.text, word.span) for word in done.task.segments[0].words] == [
        ("one", TimeSpan(0.0, 2.0)),
        ("two", TimeSpan(10.0, 12.0)),
    ]


def test_untimed_answer_when_cut_then_its_audio_is_asked_about_in_halves() -> None:
    """The silence at 34 leaves 30 s of speech on one side and 26 on the other."""
    chunk = chunk_of((0.0, 10.0), (12.0, 32.0), (36.0, 62.0))
    done = led(
        chunk,
        Answer((said("all of it, and"),), LENGTH),
        Answer((said("first" + " word" * 20),)),
        Answer((said("second" + " word" * 20),)),
        carries_times=False,
    )
    assert done.asked == [((0.0, 62.0),), ((0.0, 34.0),), ((34.0, 62.0),)]
    assert [text.split()[0] for text in done.texts] == ["first", "second"]
    assert done.rejected == ["all of it, and"]
    assert [segment.part for segment in done.task.segments] == [0, 1]
    assert done.untranscribed == []
    assert done.task.flags == [Flag.LENGTH_LIMIT, Flag.REJECTED]


def test_untimed_answer_when_cut_and_indivisible_then_drawn_once_then_kept_and_flagged() -> None:
    done = led(
        MINUTE,
        Answer((said("first try"),), LOOP),
        Answer((said("second try"),), LOOP),
        carries_times=False,
    )
    assert [request.temperature for request in done.requests] == [0.0, RETRY_TEMPERATURE]
    assert (done.texts, done.rejected) == (["second try"], ["first try"])
    assert done.untranscribed == [(0.0, 60.0)]
    assert Flag.INCOMPLETE in done.task.flags


def test_untimed_answers_when_all_are_cut_then_every_part_is_in_the_end_on_record() -> None:
    speech = [(40.0 * at, 40.0 * at + 30.0) for at in range(20)]
    done = led(
        chunk_of(*speech),
        then=lambda request: Answer((said(f"{request.seed}"),), LENGTH),
        carries_times=False,
    )
    assert len(done.requests) == MAX_REQUESTS
    assert done.untranscribed == speech
    assert len(done.texts) + len(done.rejected) == MAX_REQUESTS


def test_untimed_answer_when_it_has_too_many_words_then_drawn_once_and_kept_with_a_flag() -> None:
    """71 words in 10 s of speech: 6 a second and 10 are what may be."""
    done = led(
        chunk_of((0.0, 10.0)),
        Answer((said("first" + " word" * 70),)),
        Answer((said("second" + " word" * 70),)),
        carries_times=False,
    )
    assert [request.temperature for request in done.requests] == [0.0, RETRY_TEMPERATURE]
    assert [text.split()[0] for text in done.texts] == ["second"]
    assert [text.split()[0] for text in done.rejected] == ["first"]
    assert done.task.rejected[0].reason == (
        "more words than speech of that length can hold; asked about again"
    )
    assert done.task.flags == [Flag.SPEECH_RATE, Flag.REJECTED]
    assert done.task.segments[0].flags == (Flag.SPEECH_RATE,)
    assert done.untranscribed == []


def test_untimed_answer_when_the_second_is_plausible_then_that_and_the_flag() -> None:
    done = led(
        chunk_of((0.0, 10.0)),
        Answer((said("word " * 71),)),
        Answer((said("just these few words"),)),
        carries_times=False,
    )
    assert (done.texts, done.task.segments[0].flags) == (["just these few words"], ())
    assert done.task.flags == [Flag.SPEECH_RATE, Flag.REJECTED]


def test_untimed_answer_when_it_says_next_to_nothing_then_in_halves_then_given_up() -> None:
    chunk = chunk_of((0.0, 30.0), (31.0, 61.0))
    done = led(
        chunk,
        Answer((said("all of nothing"),)),
        Answer((said("first" + " word" * 20),)),
        Answer((said("second"),)),
        Answer((said("again"),)),
        carries_times=False,
    )
    assert len(done.asked) == 4
    assert done.asked[2] == done.asked[3]
    assert [text.split()[0] for text in done.texts] == ["first", "again"]
    assert done.rejected == ["all of nothing", "second"]
    assert done.untranscribed == [(31.0, 61.0)]
    assert done.task.flags == [Flag.SPEECH_RATE, Flag.REJECTED, Flag.INCOMPLETE]


# --- whatever is answered -----------------------------------------------------------------------

STEP_S = 0.1
times = st.none() | st.floats(-5.0, 130.0)
spoken = st.builds(
    said, st.sampled_from(["[Silence]", "hm", "so it is " * 4, "a" * 90, ""]), times, times
)
answers = st.builds(
    Answer,
    st.lists(spoken, max_size=5).map(tuple),
    st.sampled_from([END, *CUTS]),
    st.sampled_from(["", "torn"]),
)


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    """Speech and pauses in turn, the pieces being the speech, or one for all."""
    at_s, speech = 0.0, []
    for _ in range(draw(st.integers(1, 6))):
        at_s += draw(st.integers(1, 20)) / 2
        length_s = draw(st.integers(1, 120)) / 2
        speech.append((at_s, at_s + length_s))
        at_s += length_s
    return chunk_of(*speech, pieces=draw(st.sampled_from([speech, None])))


@settings(deadline=None, max_examples=60)
@given(chunks(), st.lists(answers, min_size=MAX_REQUESTS, max_size=MAX_REQUESTS), st.booleans())
def test_chunk_when_answers_are_of_any_kind_then_nothing_is_lost_or_said_twice(
    chunk: Chunk, script: list[Answer], carries_times: bool
) -> None:
    waiting = iter(script)
    done = led(chunk, then=lambda request: next(waiting), carries_times=carries_times)
    assert 1 <= len(done.requests) <= MAX_REQUESTS
    given = script[: len(done.requests)]
    assert sorted(done.texts + done.rejected) == sorted(
        text.strip()
        for answer in given
        for text in [
            *(one.text for one in answer.segments),
            answer.unreadable,
        ]
        if text.strip() and not text.startswith("[")
    )
    _assert_legal(done)
    if carries_times:
        assert _longest_lost_s(done, given) < MIN_UNANSWERED_S
    else:
        assert _untimed_lost_s(done, given) < MIN_REST_S


def _assert_legal(done: Led) -> None:
    """Words in the chunk, in order within a segment; what is given up is speech, each once."""
    task = done.task
    span = task.chunk.span.time
    for segment in task.segments:
        starts = [word.span.start_s for word in segment.words]
        assert starts == sorted(starts)
        assert span.start_s <= segment.span.start_s < segment.span.end_s <= span.end_s
    assert task.segments == sorted(task.segments, key=lambda segment: segment.span)
    lost = [SampleSpan(round(a * 16_000), round(b * 16_000)) for a, b in done.untranscribed]
    for each, following in pairwise(lost):
        assert each.end <= following.start
    for each in lost:
        assert any(each.start >= one.start and each.end <= one.end for one in task.chunk.speech)
    assert (Flag.INCOMPLETE in task.flags) == bool(lost)


def _longest_lost_s(done: Led, given: list[Answer]) -> float:
    """Most speech in a row, silence aside, that no segment, no event and no record covers."""
    covered = list(done.untranscribed)
    for request, answer in zip(done.requests, given, strict=True):
        is_cut = answer.stop is not END
        placed, _ = place_segments(answer.segments, request.audio_s, is_cut=is_cut)
        for one in placed:
            covered += _recording_spans(request, one.start_s, one.accounted_s)
    grid = np.zeros(round(done.task.chunk.span.time.end_s / STEP_S) + 1, dtype=np.int8)  # silence
    for span in done.task.chunk.speech:
        grid[round(span.time.start_s / STEP_S) : round(span.time.end_s / STEP_S)] = 1
    for start_s, end_s in covered:
        grid[math.floor(start_s / STEP_S) : math.ceil(end_s / STEP_S)] *= 2
    run = longest = 0
    for step in grid[grid > 0]:
        run = run + 1 if step == 1 else 0
        longest = max(longest, run)
    return longest * STEP_S - 0.5  # times that are rounded


def _recording_spans(request: Request, start_s: float, end_s: float) -> list[tuple[float, float]]:
    spans, passed_s = [], 0.0
    for piece in request.source.pieces:
        time = piece.time
        low_s = max(start_s, passed_s) - passed_s
        high_s = min(end_s, passed_s + time.duration_s) - passed_s
        if low_s < high_s:
            spans.append((time.start_s + low_s, time.start_s + high_s))
        passed_s += time.duration_s
    return spans


def _untimed_lost_s(done: Led, given: list[Answer]) -> float:
    """Speech of the requests that were answered to their end is answered, or nothing is."""
    answered = list(done.untranscribed)
    for request, answer in zip(done.requests, given, strict=True):
        if answer.stop is END and answer.segments:
            answered += [(piece.time.start_s, piece.time.end_s) for piece in request.source.pieces]
    return sum(
        span.time.duration_s
        for span in done.task.chunk.speech
        if not any(
            a - 1e-6 <= span.time.start_s and span.time.end_s <= b + 1e-6 for a, b in answered
        )
    )
