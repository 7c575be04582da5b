"""Distances of words' times from the truth: by hand, and of the committed weights."""

from __future__ import annotations

import pytest

from murmur_cli.asr.base import Recognition
from murmur_cli.types import Segment, TimeSpan, Word, WordTimes
from nano.decoding import held_out
from nano.evaluate import RESULTS
from nano.family import Nano
from nano.language import FRAMES_PER_S, MAX_FRAMES, language
from nano.meeting import make_meeting
from nano.word_times import TimeErrors, UntimedNano, heard, time_errors
from support.factories import make_chunk_transcript


def test_errors_by_hand() -> None:
    """Every word a frame late, its end two; a word that was not said does not count."""
    meeting = make_meeting(3, 100)
    words = [
        Word(
            language().words[word],
            TimeSpan((first + 1) / FRAMES_PER_S, (end + 2) / FRAMES_PER_S),
        )
        for part in meeting.parts
        for word, (first, end) in zip(part.words, part.spans, strict=True)
    ]
    said = (*words, Word("unsaid", TimeSpan(0.0, 90.0)))
    segment = Segment(TimeSpan(0.0, 90.0), said, 0, word_times=WordTimes.SPREAD)
    result = Recognition((make_chunk_transcript(segments=(segment,)),), None)
    assert time_errors([meeting], [result]) == TimeErrors(
        len(words), {"spread": len(said)}, 1.0, 1.0, 2.0, 2.0
    )


def measured(nano: Nano, *, watch: bool) -> TimeErrors:
    meetings = held_out(MAX_FRAMES, 1)
    return time_errors(meetings, heard(nano, meetings, watch=watch))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [Nano, UntimedNano])
def test_words_when_heads_follow_then_within_a_frame_and_nearer_than_spread(
    kind: type[Nano],
) -> None:
    if not RESULTS.exists():
        pytest.skip("these weights have not been measured: python -m nano.evaluate")
    attended = measured(kind.load(), watch=True)
    spread = measured(kind.load(), watch=False)
    assert attended.methods.get(WordTimes.ATTENTION, 0) > 0.9 * attended.words
    assert set(spread.methods) == {"spread"}
    assert attended.start_median <= 1.0
    assert attended.start_90 < spread.start_90
    assert attended.end_90 < spread.end_90
