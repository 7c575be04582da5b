"""Finished requests built by hand: which words, which times, how far the text reaches."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from murmur_cli.asr.whisper.window_output import WindowOutput, read_output
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.engine.request import Finished, Loop, Request, StopReason
from murmur_cli.types import Flag, KvUsage, SampleSpan, TimeSpan
from support.tiny_whisper import TIMES_BEGIN, tiny_tokens

TINY = tiny_tokens()
ENTRIES = 100
# Seconds 1..3 of the recording.
TIME = WindowTime((SampleSpan(16_000, 48_000),))
SPEECH = TIME.pieces


def t(step: int) -> int:
    """The token of a time in steps of 20 ms."""
    return TIMES_BEGIN + step


def finished(
    output: list[int | str],
    frames: list[int],
    stop: StopReason = StopReason.END,
    loop: Loop | None = None,
    logprob: float = math.log(0.5),
) -> Finished:
    """Tokens (text is spelt in bytes) of which each is heard from its frame on."""
    tokens = [
        token for part in output for token in (part.encode() if isinstance(part, str) else [part])
    ]
    assert len(frames) == len(tokens)
    attention = np.zeros((len(tokens), 1, ENTRIES), np.float16)
    for token, (start, end) in enumerate(itertools.pairwise([*frames, ENTRIES])):
        attention[token, 0, start:end] = 1 / max(1, end - start)
    logprobs = (logprob,) * (len(tokens) + (stop is StopReason.END))
    request = Request("w", None, (1,), 2.0, 50)
    return Finished(request, tuple(tokens), logprobs, stop, loop, KvUsage(), attention, None)


def read(output: Finished, language: str | None = "en") -> WindowOutput:
    return read_output(output, TIME, SPEECH, TINY, language)


def words_of(output: WindowOutput) -> list[tuple[str, float, float]]:
    return [
        (word.text, word.span.start_s, word.span.end_s)
        for stretch in output.stretches
        for word in stretch.words
    ]


def test_output_when_all_stretches_are_closed_then_reaches_the_last_time() -> None:
    # |0.00| ab |0.60| |0.80| cd |1.40|, a frame is 20 ms, the window begins at 1 s.
    output = read(finished([t(0), "ab", t(30), t(40), "cd", t(70)], [0, 5, 12, 30, 39, 45, 55, 70]))
    assert output.reached_s == pytest.approx(1.4)
    assert words_of(output) == [
        ("ab", pytest.approx(1.1, abs=0.021), pytest.approx(1.6, abs=0.021)),
        ("cd", pytest.approx(1.9, abs=0.021), pytest.approx(2.4, abs=0.021)),
    ]
    assert [stretch.span for stretch in output.stretches] == [
        TimeSpan(1.0, 1.6),
        TimeSpan(1.8, 2.4),
    ]
    assert output.flags == ()
    assert output.evidence.mean_logprob == pytest.approx(math.log(0.5))
    assert all(w.probability == pytest.approx(0.5) for s in output.stretches for w in s.words)


def test_output_when_last_stretch_is_open_and_model_ended_then_reaches_the_end() -> None:
    output = read(finished([t(0), "a", t(30), t(40), "b"], [0, 5, 29, 39, 50]))
    assert output.reached_s == pytest.approx(2.0)
    assert words_of(output)[1][0] == "b"
    assert output.stretches[1].span == TimeSpan(1.8, 3.0)


def test_output_when_empty_then_reaches_nothing() -> None:
    for tokens in ([], [t(0)], [t(0), t(100)]):
        output = read(finished(tokens, list(range(len(tokens)))))
        assert output.stretches == ()
        assert output.reached_s == 0.0


def test_word_when_alignment_leaves_its_stretch_then_kept_inside() -> None:
    # The attention says frames 70 and 80, the model's own times 0.2 to 0.6.
    output = read(finished([t(10), "ab", t(30)], [0, 70, 80, 90]))
    assert words_of(output) == [("ab", pytest.approx(1.6), pytest.approx(1.6))]


def test_output_when_looping_on_the_spot_then_only_the_first_occurrence() -> None:
    loop = Loop(start=4, period=1, repeats=6)
    # The first c lasts 0.2 s; from the second on they take 40 ms each.
    frames = [0, 5, 10, 15, 20, 30, 32, 34, 36, 38]
    output = read(finished([t(0), "ab cccccc"], frames, StopReason.LOOP, loop))
    # The alignment, smoothed over 7 frames, may give the second c just enough.
    assert [text for text, _, _ in words_of(output)] in (["ab", "c"], ["ab", "cc"])
    assert 0.6 <= output.reached_s <= 0.8
    assert output.flags == (Flag.LOOP,)
    assert not output.is_spoken_repetition


def test_output_when_each_occurrence_takes_its_time_then_spoken_and_kept_but_for_the_last() -> None:
    loop = Loop(start=4, period=1, repeats=6)
    frames = [0, 5, 10, 15, *range(20, 80, 10)]
    output = read(finished([t(0), "ab cccccc"], frames, StopReason.LOOP, loop, logprob=-0.1))
    assert [text for text, _, _ in words_of(output)] == ["ab", "ccccc"]
    # The last c is heard from frame 70 on.
    assert output.reached_s == pytest.approx(1.4, abs=0.021)
    assert output.flags == (Flag.LOOP,)
    assert output.is_spoken_repetition


def test_output_when_occurrences_take_their_time_but_are_unsure_then_only_the_first() -> None:
    loop = Loop(start=4, period=1, repeats=6)
    frames = [0, 5, 10, 15, *range(20, 80, 10)]
    output = read(finished([t(0), "ab cccccc"], frames, StopReason.LOOP, loop, logprob=-0.6))
    assert [text for text, _, _ in words_of(output)] == ["ab", "c"]
    assert not output.is_spoken_repetition


def test_output_when_loop_follows_a_closed_stretch_then_reaches_its_end() -> None:
    tokens = [t(0), "a", t(25), t(25), "b", t(35), t(35), "b", t(45), t(45), "b"]
    frames = [0, 5, 24, 26, 28, 29, 30, 31, 32, 33, 34]
    output = read(finished(tokens, frames, StopReason.LOOP, Loop(4, 3, 3)))
    assert [text for text, _, _ in words_of(output)] == ["a", "b"]
    assert 0.5 <= output.reached_s <= 0.7


def test_output_when_cut_by_length_then_open_stretch_is_left_for_the_rest() -> None:
    output = read(
        finished([t(0), "a", t(25), t(25), "bc"], [0, 5, 24, 26, 30, 40], StopReason.LENGTH)
    )
    assert [text for text, _, _ in words_of(output)] == ["a"]
    assert output.reached_s == pytest.approx(0.5)
    assert output.flags == (Flag.LENGTH_LIMIT,)


def test_output_when_only_stretch_is_cut_by_length_then_last_word_is_left_for_the_rest() -> None:
    # "ab cd ef", cut perhaps in the middle of "ef", which is heard from frame 60 on.
    output = read(
        finished([t(0), "ab cd ef"], [0, 5, 10, 15, 20, 25, 60, 65, 70], StopReason.LENGTH)
    )
    assert [text for text, _, _ in words_of(output)] == ["ab", "cd"]
    assert output.reached_s == pytest.approx(60 * 0.02, abs=0.021)
    assert words_of(output)[1][2] <= 1 + output.reached_s


def test_output_when_one_endless_word_is_cut_by_length_then_nothing_is_kept() -> None:
    output = read(finished([t(0), "aaa"], [0, 5, 10, 15], StopReason.LENGTH))
    assert output.stretches == ()
    assert output.reached_s == 0.0


def test_output_when_doubtful_then_flagged() -> None:
    output = read(finished([t(0), "a", t(50)], [0, 5, 50], logprob=-1.2))
    assert output.flags == (Flag.LOW_CONFIDENCE,)
    assert output.evidence.mean_logprob == pytest.approx(-1.2)


def test_times_when_beyond_the_audio_then_clamped() -> None:
    output = read(finished([t(0), "a", t(400)], [0, 5, 90]))
    assert output.reached_s == 2.0
    assert output.stretches[0].span == TimeSpan(1.0, 3.0)
    assert words_of(output)[0][2] <= 3.0


def test_output_when_the_model_claims_a_pause_at_the_end_then_reaches_the_text_only() -> None:
    # |0.00| ab |0.60| |1.80| end: whether 0.60 to 1.80 is silence is for the detector to say.
    output = read(finished([t(0), "ab", t(30), t(90)], [0, 5, 12, 30, 60]))
    assert output.reached_s == pytest.approx(0.6)
    assert [stretch.span for stretch in output.stretches] == [TimeSpan(1.0, 1.6)]


@pytest.mark.parametrize(("logprob", "doubtful"), [(-1.01, True), (-0.99, False)])
def test_output_when_the_text_is_unlikely_then_its_stretches_are_doubtful(
    logprob: float, doubtful: bool
) -> None:
    output = read(finished([t(0), "ab", t(30)], [0, 5, 12, 30], logprob=logprob))
    flags = (Flag.LOW_CONFIDENCE,) if doubtful else ()
    assert [stretch.flags for stretch in output.stretches] == [flags]
    assert (Flag.LOW_CONFIDENCE in output.flags) == doubtful
