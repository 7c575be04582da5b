"""One window's way through the engine, with the engine's answers made by hand."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from murmur_cli.asr.whisper.fallback import TEMPERATURES
from murmur_cli.asr.whisper.window_task import (
    MAX_LOOPS,
    MAX_REQUESTS,
    MAX_RETRIES,
    WindowTask,
)
from murmur_cli.engine.request import Finished, Loop, Request, StopReason
from murmur_cli.types import Flag, KvUsage, SampleSpan, TimeSpan, Window
from support.tiny_whisper import TIMES_BEGIN, tiny_tokens

TINY = tiny_tokens()
PROMPT = (257, 258, 261)


def t(seconds: float) -> int:
    return TIMES_BEGIN + round(seconds * 50)


def make_task(*speech: tuple[float, float]) -> WindowTask:
    """A window that hears exactly its speech, given in seconds."""
    spans = tuple(SampleSpan(round(s * 16_000), round(e * 16_000)) for s, e in speech)
    window = Window(SampleSpan(spans[0].start, spans[-1].end), spans, spans)
    samples = np.zeros(spans[-1].end, np.float32)
    return WindowTask("w", 0, samples, window, "en", PROMPT)


def answer(
    request: Request,
    *output: int | str,
    stop: StopReason = StopReason.END,
    loop: Loop | None = None,
) -> Finished:
    tokens = tuple(
        token for part in output for token in (part.encode() if isinstance(part, str) else [part])
    )
    logprobs = (math.log(0.5),) * (len(tokens) + (stop is StopReason.END))
    entries = 1500
    # Every token takes an equal share of the window.
    attention = np.zeros((len(tokens), 1, entries), np.float16)
    heard = round(request.audio_s * 50)
    # Where a loop begins, the decoder stays.
    begin = 0 if loop is None else loop.start * heard // len(tokens)
    stuck = slice(begin, begin + 5)
    for token in range(len(tokens)):
        share = slice(token * heard // len(tokens), (token + 1) * heard // len(tokens))
        attention[token, 0, share if loop is None or token < loop.start else stuck] = 0.1
    return Finished(request, tokens, logprobs, stop, loop, KvUsage(steps=1), attention, None)


def looping(request: Request) -> Finished:
    """A repetition from the very first word."""
    return answer(request, t(0), "a" * 60, stop=StopReason.LOOP, loop=Loop(1, 1, 60))


def texts(task: WindowTask) -> list[str]:
    return [word.text for stretch in task.heard for word in stretch.words]


def test_first_request_when_made_then_whole_window_greedy() -> None:
    task = make_task((1.0, 3.0), (5.0, 6.0))
    request = task.first_request()
    assert (request.key, request.prompt, request.temperature) == ("w", PROMPT, 0.0)
    assert request.audio_s == 3.0
    assert request.source.pieces == task.window.pieces
    assert len(request.source.audio) == 3 * 16_000


def test_window_when_covered_then_done() -> None:
    task = make_task((1.0, 3.0))
    finished = answer(task.first_request(), t(0), "one two", t(1.9))
    assert task.take(finished, TINY) is None
    assert texts(task) == ["one", "two"]
    assert (task.flags, task.untranscribed, task.rejected) == ([], [], [])
    assert (task.requests, task.tokens) == (1, 9)
    assert task.logprob_sum / task.logprob_count == pytest.approx(math.log(0.5))


def test_window_when_speech_is_left_then_goes_on_from_there() -> None:
    task = make_task((1.0, 3.0), (5.0, 7.0))
    rest = task.take(answer(task.first_request(), t(0), "one", t(1.5)), TINY)
    assert rest is not None
    # 1.5 s of 4 are done: half a second of the first piece is left, and the second.
    assert rest.source.pieces == (SampleSpan(40_000, 48_000), SampleSpan(80_000, 112_000))
    assert (rest.audio_s, rest.temperature) == (2.5, 0.0)
    assert task.take(answer(rest, t(0), "two", t(0.5), t(0.5), "three", t(2.5)), TINY) is None
    assert texts(task) == ["one", "two", "three"]
    # Second 0.5 of the rest is the joint: "three" is from 5 s on.
    assert task.heard[2].span == TimeSpan(5.0, 7.0)
    assert task.requests == 2
    assert task.kv.steps == 2


def test_window_when_only_silence_is_left_then_done() -> None:
    spoken = SampleSpan(16_000, 32_000)
    window = Window(SampleSpan(16_000, 80_000), (spoken,), (SampleSpan(16_000, 80_000),))
    task = WindowTask("w", 0, np.zeros(80_000, np.float32), window, "en", PROMPT)
    assert task.take(answer(task.first_request(), t(0), "one", t(0.9)), TINY) is None
    assert task.flags == []


def test_window_when_nothing_is_said_then_incomplete() -> None:
    task = make_task((1.0, 3.0))
    assert task.take(answer(task.first_request()), TINY) is None
    assert task.flags == [Flag.INCOMPLETE]
    assert task.untranscribed == [TimeSpan(1.0, 3.0)]


def test_window_when_shorter_than_progress_counts_then_its_text_is_kept() -> None:
    task = make_task((1.0, 1.4))
    assert task.take(answer(task.first_request(), t(0), "yes", t(0.38)), TINY) is None
    assert texts(task) == ["yes"]
    assert task.flags == []


def test_window_when_text_does_not_move_on_then_given_up() -> None:
    task = make_task((1.0, 9.0))
    assert task.take(answer(task.first_request(), t(0), "uh", t(0.2)), TINY) is None
    assert texts(task) == []
    assert task.flags == [Flag.INCOMPLETE]
    assert task.untranscribed == [TimeSpan(1.0, 9.0)]


def test_loop_when_at_the_very_start_then_higher_temperatures_then_given_up() -> None:
    task = make_task((1.0, 9.0))
    request: Request | None = task.first_request()
    temperatures, seeds = [], set()
    while request is not None:
        temperatures.append(request.temperature)
        seeds.add(request.seed)
        request = task.take(looping(request), TINY)
    assert temperatures == [0.0, *TEMPERATURES]
    assert len(seeds) == 6
    assert task.loops == 6
    assert task.flags == [Flag.LOOP, Flag.INCOMPLETE]
    assert [text.text for text in task.rejected] == ["a"]
    assert task.untranscribed == [TimeSpan(1.0, 9.0)]


def doubtful(request: Request, text: str, logprob: float) -> Finished:
    finished = answer(request, t(0), text, t(request.audio_s - 0.1))
    return dataclasses.replace(finished, logprobs=(logprob,) * len(finished.logprobs))


def test_text_when_doubted_then_drawn_hotter_until_a_try_is_likely() -> None:
    task = make_task((1.0, 3.0))
    request = task.first_request()
    temperatures = []
    for text, logprob in [("one", -1.5), ("two", -1.2), ("three", -0.9)]:
        assert request is not None
        temperatures.append(request.temperature)
        assert request.source.pieces == task.window.pieces
        request = task.take(doubtful(request, text, logprob), TINY)
    assert request is None
    assert temperatures == [0.0, *TEMPERATURES[:2]]
    assert texts(task) == ["three"]
    assert (task.flags, task.heard[0].flags) == ([], ())
    assert task.requests == 3


def test_text_when_every_try_is_doubted_then_the_likeliest_is_kept_and_flagged() -> None:
    task = make_task((1.0, 3.0))
    request: Request | None = task.first_request()
    tries = iter([("a", -1.5), ("b", -1.7), ("c", -1.1), ("d", -1.3), ("e", -2.0), ("f", -1.9)])
    while request is not None:
        request = task.take(doubtful(request, *next(tries)), TINY)
    assert next(tries, None) is None
    assert texts(task) == ["c"]
    assert task.heard[0].flags == (Flag.LOW_CONFIDENCE,)
    assert task.flags == [Flag.LOW_CONFIDENCE]
    assert task.rejected == []


def test_text_when_it_compresses_too_well_and_a_draw_says_the_same_then_kept_and_flagged() -> None:
    task = make_task((1.0, 9.0))
    text = "no, no, no, no, no, no, no, no, no, no, no, no, no, no, no"
    again = task.take(doubtful(task.first_request(), text, -0.2), TINY)
    assert again is not None
    assert again.temperature == TEMPERATURES[0]
    assert task.take(doubtful(again, text, -0.2), TINY) is None
    assert " ".join(texts(task)) == text
    assert task.flags == [Flag.REPETITIVE]


def test_retries_when_many_stretches_are_doubted_then_bounded() -> None:
    task = make_task((0.0, 30.0))
    request: Request | None = task.first_request()
    temperatures = []
    while request is not None:
        temperatures.append(request.temperature)
        finished = answer(request, t(0), chr(97 + len(temperatures)), t(3.0))
        request = task.take(
            dataclasses.replace(finished, logprobs=(-1.5,) * len(finished.logprobs)), TINY
        )
    assert sum(temperature > 0 for temperature in temperatures) == MAX_RETRIES
    assert task.requests <= MAX_RETRIES + MAX_REQUESTS


def test_retry_when_asked_then_independent_of_what_other_windows_do() -> None:
    first, second = make_task((1.0, 3.0)), make_task((1.0, 3.0))
    one = first.take(doubtful(first.first_request(), "a", -1.5), TINY)
    two = second.take(doubtful(second.first_request(), "a", -1.5), TINY)
    assert one is not None
    assert two is not None
    assert (one.seed, one.temperature) == (two.seed, two.temperature)


def test_output_when_past_the_ceiling_then_drawn_again_and_set_aside() -> None:
    task = make_task((1.0, 3.0))
    request: Request | None = task.first_request()
    tries = 0
    while request is not None:
        tries += 1
        finished = answer(request, t(0), "a b c", t(1.0), t(1.0), "d e", stop=StopReason.CEILING)
        request = task.take(finished, TINY)
    assert tries == 1 + len(TEMPERATURES)
    assert task.heard == []
    assert [text.text for text in task.rejected] == ["a b c"]
    assert task.untranscribed == [TimeSpan(1.0, 3.0)]
    assert Flag.LENGTH_LIMIT in task.flags


def test_text_when_its_time_is_past_the_audio_then_clamped_and_flagged() -> None:
    task = make_task((1.0, 3.0))
    finished = answer(task.first_request(), t(0), "one", t(2.0), t(4.0), "two", t(6.0))
    assert task.take(finished, TINY) is None
    assert texts(task) == ["one", "two"]
    assert [stretch.flags for stretch in task.heard] == [(), (Flag.TIME_OUT_OF_RANGE,)]
    assert all(word.span.end_s <= 3.0 for stretch in task.heard for word in stretch.words)
    assert task.flags == [Flag.TIME_OUT_OF_RANGE]


def test_text_when_it_repeats_the_one_before_past_the_audio_then_set_aside() -> None:
    task = make_task((1.0, 3.0))
    finished = answer(task.first_request(), t(0), "one", t(2.0), t(4.0), "one", t(6.0))
    assert task.take(finished, TINY) is None
    assert texts(task) == ["one"]
    assert [text.text for text in task.rejected] == ["one"]
    assert task.flags == [Flag.REJECTED]


def test_loop_when_a_retry_helps_then_greedy_again() -> None:
    task = make_task((1.0, 5.0))
    retry = task.take(looping(task.first_request()), TINY)
    assert retry is not None
    assert retry.source.pieces == task.window.pieces
    rest = task.take(answer(retry, t(0), "one", t(2.0)), TINY)
    assert rest is not None
    assert rest.temperature == 0.0
    again = task.take(looping(rest), TINY)
    assert again is not None
    assert again.temperature == TEMPERATURES[0]
    assert texts(task) == ["one"]


def test_loop_when_after_text_then_text_is_kept_and_the_rest_asked_anew() -> None:
    task = make_task((1.0, 11.0))
    output = (t(0), "one", t(4.0), t(4.0), "a" * 30)
    rest = task.take(
        answer(task.first_request(), *output, stop=StopReason.LOOP, loop=Loop(6, 1, 30)), TINY
    )
    assert rest is not None
    assert texts(task)[0] == "one"
    assert rest.source.pieces[0].start >= (1 + 4) * 16_000
    assert rest.temperature == 0.0
    assert task.flags == [Flag.LOOP]


def test_window_when_it_never_ends_then_requests_are_bounded() -> None:
    task = make_task((0.0, 30.0))
    request: Request | None = task.first_request()
    while request is not None:
        request = task.take(answer(request, t(0), "um", t(0.6)), TINY)
    assert task.requests == MAX_REQUESTS
    assert task.flags == [Flag.INCOMPLETE]
    assert texts(task) == ["um"] * MAX_REQUESTS
    (left,) = task.untranscribed
    assert left.start_s == pytest.approx(0.6 * MAX_REQUESTS)
    assert left.end_s == 30.0


def test_text_when_too_slow_for_the_speech_of_a_rest_then_drawn_again_and_kept_aside() -> None:
    task = make_task((0.0, 20.0))
    request = task.take(answer(task.first_request(), t(0), "a b c d", t(8.0)), TINY)
    temperatures = []
    while request is not None:
        temperatures.append(request.temperature)
        # 12 s of speech want at least 6 words. Other words each time, so that draws go on.
        said = f"thank {'you' if len(temperatures) == 1 else chr(96 + len(temperatures))}"
        request = task.take(answer(request, t(0), said, t(12.0)), TINY)
    assert temperatures == [0.0, *TEMPERATURES]
    assert texts(task) == ["a", "b", "c", "d"]
    (rejected,) = task.rejected
    assert (rejected.text, rejected.span) == ("thank you", TimeSpan(8.0, 20.0))
    assert rejected.reason == "2 words for 12.0 s of speech, on a retry"
    assert task.flags == [Flag.REJECTED]
    assert task.untranscribed == [TimeSpan(8.0, 20.0)]


def test_speech_when_the_model_skips_it_then_asked_again_and_put_in_order() -> None:
    # "one" is said by 2 s and "two" from 18 s on; 16 s of speech between them have no words.
    task = make_task((0.0, 20.0))
    request = task.take(
        answer(task.first_request(), t(0), "one", t(2.0), t(18.0), "two", t(20.0)), TINY
    )
    assert request is not None
    (hole,) = request.source.pieces
    assert 1.0 < hole.start / 16_000 < 3.0
    assert 17.0 < hole.end / 16_000 <= 18.0
    words = "it was the best of times it was the worst"
    assert task.take(answer(request, t(0), words, t(15.0)), TINY) is None
    assert texts(task) == ["one", *words.split(), "two"]
    assert (task.flags, task.untranscribed) == ([], [])


def test_speech_when_skipped_and_the_answer_is_thin_then_listed_and_text_set_aside() -> None:
    task = make_task((0.0, 20.0))
    request = task.take(
        answer(task.first_request(), t(0), "one", t(2.0), t(18.0), "two", t(20.0)), TINY
    )
    assert request is not None
    assert task.take(answer(request, t(0), "thank you", t(15.0)), TINY) is None
    assert texts(task) == ["one", "two"]
    assert [text.text for text in task.rejected] == ["thank you"]
    assert task.flags == [Flag.INCOMPLETE]
    (span,) = task.untranscribed
    assert 14.0 < span.duration_s < 17.0


def test_text_when_slow_in_the_first_request_then_believed_and_its_gaps_asked_again() -> None:
    task = make_task((0.0, 12.0))
    request = task.take(answer(task.first_request(), t(0), "thank you", t(12.0)), TINY)
    while request is not None:
        request = task.take(answer(request), TINY)
    assert texts(task) == ["thank", "you"]
    assert task.rejected == []
    assert Flag.INCOMPLETE in task.flags
    assert task.untranscribed


def test_speech_when_skipped_before_a_rest_is_given_up_then_both_are_on_record() -> None:
    # One run of speech: "one" at its start, nothing until 9 s, "two", then an empty rest.
    task = make_task((0.0, 20.0))
    rest = task.take(
        answer(task.first_request(), t(0), "one", t(1.0), t(9.0), "two", t(10.0)), TINY
    )
    assert rest is not None
    hole = task.take(answer(rest), TINY)
    assert TimeSpan(10.0, 20.0) in task.untranscribed
    assert hole is not None
    (piece,) = hole.source.pieces
    # "two" starts between 9 and 10 s, and half a second before it is its own.
    assert 1.0 < piece.start / 16_000 < 3.0
    assert 8.5 <= piece.end / 16_000 <= 9.5
    assert task.take(answer(hole), TINY) is None
    assert piece.time in task.untranscribed
    assert texts(task) == ["one", "two"]


def test_speech_when_skipped_and_requests_are_used_up_then_on_record() -> None:
    task = make_task((0.0, 20.0))
    request = task.first_request()
    task._asked = MAX_REQUESTS
    # Enough words for 20 s of speech, but none between 2 and 18 s.
    finished = answer(request, t(0), "a b c d e f", t(2.0), t(18.0), "g h i j k l", t(20.0))
    assert task.take(finished, TINY) is None
    assert len(texts(task)) == 12
    (span,) = task.untranscribed
    assert 14.0 < span.duration_s < 17.0
    assert task.flags == [Flag.INCOMPLETE]


def test_speech_when_translated_then_skips_are_not_looked_for() -> None:
    task = make_task((0.0, 20.0))
    task.finds_unheard = False
    finished = answer(task.first_request(), t(0), "one", t(2.0), t(18.0), "two", t(20.0))
    assert task.take(finished, TINY) is None


def test_loops_when_they_follow_each_other_then_their_span_is_left_out_and_the_next_is_asked() -> (
    None
):
    task = make_task((0.0, 10.0), (11.0, 14.0))
    request: Request | None = task.first_request()
    for _ in range(MAX_LOOPS):
        assert request is not None
        output = (t(0), "ab", t(0.6), t(0.6), "a" * 30)
        looped = answer(request, *output, stop=StopReason.LOOP, loop=Loop(5, 1, 30))
        request = task.take(looped, TINY)
    assert request is not None
    assert request.source.pieces == (SampleSpan(11 * 16_000, 14 * 16_000),)
    assert task.take(answer(request, t(0), "the words after it", t(3.0)), TINY) is None
    assert texts(task)[-4:] == ["the", "words", "after", "it"]
    assert Flag.LOOP in task.flags
    assert Flag.INCOMPLETE in task.flags
    assert all(span.end_s <= 10.0 for span in task.untranscribed)


@pytest.mark.parametrize(
    ("no_speech", "logprob", "rejected"),
    [(0.7, -1.2, True), (0.5, -1.2, False), (0.7, -0.8, False), (None, -1.2, False)],
)
def test_window_when_the_model_hears_no_speech_and_doubts_its_text_then_rejected(
    no_speech: float | None, logprob: float, rejected: bool
) -> None:
    task = make_task((1.0, 3.0))
    finished = answer(task.first_request(), t(0), "you", t(1.9))
    finished = dataclasses.replace(
        finished,
        no_speech_probability=no_speech,
        logprobs=(logprob,) * len(finished.logprobs),
    )
    again = task.take(finished, TINY)
    # Doubted text that is not silence is drawn again, and kept when the draw says the same.
    assert (again is not None) == (logprob < -1 and not rejected)
    if again is not None:
        assert again.temperature == TEMPERATURES[0]
        assert task.take(dataclasses.replace(finished, request=again), TINY) is None
        assert task.heard[0].flags == (Flag.LOW_CONFIDENCE,)
    assert texts(task) == ([] if rejected else ["you"])
    assert [text.text for text in task.rejected] == (["you"] if rejected else [])
    assert task.untranscribed == ([TimeSpan(1.0, 3.0)] if rejected else [])
    assert (Flag.NO_SPEECH in task.flags) == rejected
