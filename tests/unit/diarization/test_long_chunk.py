"""Chunks too long for one grouping: where they are cut, and what becomes of the parts."""

from __future__ import annotations

import numpy as np

from murmur_cli.diarization.long_chunk import CUT_REACH_S, diarize_in_parts, parts_of
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    LocalSpeaker,
    LocalTurn,
    SampleSpan,
    SpeakerHints,
    TimeSpan,
    Window,
)

RATE = 16_000


def _chunk(end_s: int, *speech_s: tuple[int, int]) -> Chunk:
    span = SampleSpan(0, end_s * RATE)
    speech = tuple(SampleSpan(start * RATE, end * RATE) for start, end in speech_s)
    return Chunk(3, span, (Window(span, speech, (span,)),))


def _seconds(parts: list[Chunk]) -> list[tuple[float, float]]:
    return [(part.span.start / RATE, part.span.end / RATE) for part in parts]


def test_parts_when_chunk_is_short_enough_then_itself() -> None:
    chunk = _chunk(100, (0, 100))
    assert parts_of(chunk, 100.0) == [chunk]


def test_parts_when_silences_are_near_then_cut_in_the_middle_of_the_longest() -> None:
    # Even place 100; silences 90-92, 95-99 and, out of reach, 140-160.
    parts = parts_of(_chunk(200, (0, 90), (92, 95), (99, 140), (160, 200)), 100.0)
    assert _seconds(parts) == [(0, 97), (97, 200)]
    assert [one for part in parts for one in part.speech] == [
        SampleSpan(start * RATE, end * RATE)
        for start, end in ((0, 90), (92, 95), (99, 140), (160, 200))
    ]


def test_parts_when_nobody_pauses_then_cut_evenly_through_the_speech() -> None:
    parts = parts_of(_chunk(300, (0, 300)), 100.0)
    assert _seconds(parts) == [(0, 100), (100, 200), (200, 300)]
    assert [part.speech for part in parts] == [(part.span,) for part in parts]


def test_parts_when_silence_reaches_far_then_the_cut_stays_near_and_empty_parts_go() -> None:
    parts = parts_of(_chunk(300, (0, 10), (290, 300)), 100.0)
    (first, last) = _seconds(parts)
    assert abs(first[1] - 100) <= CUT_REACH_S
    assert last[0] >= 200 - CUT_REACH_S


def test_long_chunk_when_diarized_then_numbers_do_not_clash_and_parts_are_told() -> None:
    asked: list[SpeakerHints] = []

    def diarize(part: Chunk, hints: SpeakerHints) -> ChunkDiarization:
        asked.append(hints)
        time = part.span.time
        half = TimeSpan(time.start_s, time.middle_s), TimeSpan(time.middle_s, time.end_s)
        return ChunkDiarization(
            part.index,
            tuple(LocalTurn(span, number) for number, span in enumerate(half)),
            tuple(LocalSpeaker(part.index, n, 5.0, np.eye(2, dtype=np.float32)[n]) for n in (0, 1)),
        )

    made = diarize_in_parts(_chunk(3600, (0, 3600)), SpeakerHints(exact=2), diarize)
    assert asked == [SpeakerHints(maximum=2)] * 2
    assert made.chunk_index == 3
    assert [(turn.span.start_s, turn.local_speaker) for turn in made.turns] == [
        (0, 0),
        (900, 1),
        (1800, 2),
        (2700, 3),
    ]
    assert [(one.local_speaker, one.part) for one in made.speakers] == [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 1),
    ]
