"""Turns that go to another speaker than their local voice, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import ChunkDiarization, MovedTurn, SpeakerHints, SpeakerTimeline, TimeSpan
from support.voices import local_chunk, person

NO_HINTS = SpeakerHints()
ANNA, BEN, CARL = person(0), person(1), person(2)


def _mixed(*voices: tuple[float, np.ndarray]) -> np.ndarray:
    total = np.sum([weight * vector for weight, vector in voices], axis=0)
    return (total / np.linalg.norm(total)).astype(np.float32)


def _clear(index: int, at_s: float) -> ChunkDiarization:
    """Anna for 20 s, then Ben for 20 s."""
    first, second = (at_s, at_s + 20), (at_s + 20, at_s + 40)
    return local_chunk(
        index,
        [([first], ANNA, 20), ([second], BEN, 20)],
        sounds={first: ANNA, second: BEN},
    )


def _one_voice_of_two(index: int, at_s: float, other: np.ndarray = BEN) -> ChunkDiarization:
    """Anna for 8 s and the other for 4 s, whom the chunk took for one."""
    first, second = (at_s, at_s + 8), (at_s + 10, at_s + 14)
    voice = _mixed((8, ANNA), (4, other))
    return local_chunk(index, [([first, second], voice, 12)], sounds={first: ANNA, second: other})


def _turns(timeline: SpeakerTimeline) -> list[tuple[float, float, str]]:
    return [(turn.span.start_s, turn.span.end_s, turn.speaker) for turn in timeline.turns]


def test_turn_when_it_sounds_like_another_then_it_goes_there_with_its_evidence() -> None:
    timeline = stitch([_clear(0, 0), _one_voice_of_two(1, 100)], NO_HINTS)
    assert _turns(timeline)[-2:] == [(100, 108, "SPEAKER_00"), (110, 114, "SPEAKER_01")]
    (decision,) = (one for one in timeline.decisions if one.chunk_index == 1)
    assert decision.speaker == "SPEAKER_00"
    (moved,) = decision.moved
    assert moved == MovedTurn(TimeSpan(110, 114), 4.0, "SPEAKER_01", 1.0, 0.0)
    assert moved.margin == 1.0


@pytest.mark.parametrize(
    ("sound", "goes"),
    [
        (_mixed((0.62, BEN), (0.5, ANNA), (0.6, CARL)), True),
        (_mixed((0.55, BEN), (0.5, ANNA), (0.67, CARL)), False),  # not clearly
        (_mixed((0.45, BEN), (0.1, ANNA), (0.88, CARL)), False),  # too little like Ben
    ],
)
def test_turn_when_it_is_not_clearly_anothers_then_it_stays(sound: np.ndarray, goes: bool) -> None:
    timeline = stitch([_clear(0, 0), _one_voice_of_two(1, 100, sound)], NO_HINTS)
    assert _turns(timeline)[-1][2] == ("SPEAKER_01" if goes else "SPEAKER_00")


def test_turn_when_the_other_talks_then_it_stays() -> None:
    chunk = _one_voice_of_two(1, 100)
    beside = local_chunk(1, [([(100, 101), (109, 113)], BEN, 5)]).turns
    speaker = local_chunk(1, [([(0, 1)], BEN, 5)]).speakers[0]
    both = ChunkDiarization(
        1,
        tuple(sorted((*chunk.turns, *(replace(turn, local_speaker=1) for turn in beside)))),
        (*chunk.speakers, replace(speaker, local_speaker=1)),
    )
    timeline = stitch([_clear(0, 0), both], NO_HINTS)
    assert (110, 114, "SPEAKER_00") in _turns(timeline)


def test_turn_when_its_clean_speech_is_under_half_a_second_then_it_stays() -> None:
    chunk = _one_voice_of_two(1, 100)
    short = tuple(
        replace(turn, clean_s=0.49) if turn.span.start_s == 110 else turn for turn in chunk.turns
    )
    timeline = stitch([_clear(0, 0), replace(chunk, turns=short)], NO_HINTS)
    assert _turns(timeline)[-1] == (110, 114, "SPEAKER_00")


def test_turn_when_the_other_is_of_another_channel_then_it_stays() -> None:
    chunks = [
        replace(_clear(0, 0), channel=1),
        replace(_one_voice_of_two(1, 100), channel=2),
    ]
    assert all(not decision.moved for decision in stitch(chunks, NO_HINTS).decisions)


def test_speaker_when_his_only_turn_is_like_anothers_then_he_keeps_it() -> None:
    """A chunk hears two voices: they are two people, however alike."""
    chunk = local_chunk(
        0,
        [([(0, 9)], ANNA, 9), ([(10, 13)], ANNA, 3)],
        sounds={(0, 9): ANNA, (10, 13): ANNA},
    )
    timeline = stitch([chunk], NO_HINTS)
    assert _turns(timeline) == [(0, 9, "SPEAKER_00"), (10, 13, "SPEAKER_01")]


def test_labels_when_a_first_turn_moves_then_they_follow_first_speech() -> None:
    early = local_chunk(
        0,
        [([(0, 4), (6, 14)], _mixed((8, ANNA), (4, BEN)), 12)],
        sounds={(0, 4): BEN, (6, 14): ANNA},
    )
    timeline = stitch([early, _clear(1, 100)], NO_HINTS)
    assert _turns(timeline)[:2] == [(0, 4, "SPEAKER_00"), (6, 14, "SPEAKER_01")]
    assert _turns(timeline)[2:] == [(100, 120, "SPEAKER_01"), (120, 140, "SPEAKER_00")]
    (decision,) = (one for one in timeline.decisions if one.chunk_index == 0)
    assert decision.speaker == "SPEAKER_01"


@pytest.mark.parametrize("useless", [np.zeros(16, np.float32), np.full(16, np.nan, np.float32)])
def test_turn_when_its_embedding_is_useless_then_it_stays(useless: np.ndarray) -> None:
    chunk = _one_voice_of_two(1, 100)
    broken = tuple(replace(turn, embedding=useless) for turn in chunk.turns)
    timeline = stitch([_clear(0, 0), replace(chunk, turns=broken)], NO_HINTS)
    assert _turns(timeline)[-1] == (110, 114, "SPEAKER_00")
