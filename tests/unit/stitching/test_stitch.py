import tracemalloc

import numpy as np
import pytest

from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import SpeakerHints, SpeakerTimeline, TimeSpan
from support.voices import local_chunk, person

NO_HINTS = SpeakerHints()


def _turns(timeline: SpeakerTimeline) -> list[tuple[float, float, str]]:
    return [(turn.span.start_s, turn.span.end_s, turn.speaker) for turn in timeline.turns]


def test_stitch_when_nothing_was_said_then_empty_timeline() -> None:
    assert stitch([], NO_HINTS) == SpeakerTimeline((), ())
    assert stitch([local_chunk(0, [])], NO_HINTS) == SpeakerTimeline((), ())


def test_stitch_when_speaker_is_absent_for_chunks_then_same_label_returns() -> None:
    chunks = [
        local_chunk(0, [([(0, 9)], person(0), 9), ([(9, 12)], person(1), 3)]),
        local_chunk(1, [([(300, 320)], person(1, 0.3, 1), 20)]),
        local_chunk(2, [([(600, 620)], person(1, 0.3, 2), 20)]),
        local_chunk(3, [([(900, 905)], person(0, 0.3, 3), 5)]),
    ]
    timeline = stitch(chunks, NO_HINTS)
    assert timeline.speakers == ("SPEAKER_00", "SPEAKER_01")
    assert _turns(timeline) == [
        (0, 9, "SPEAKER_00"),
        (9, 12, "SPEAKER_01"),
        (300, 320, "SPEAKER_01"),
        (600, 620, "SPEAKER_01"),
        (900, 905, "SPEAKER_00"),
    ]


def test_stitch_when_two_voices_of_a_chunk_are_alike_then_they_stay_two() -> None:
    chunk = local_chunk(0, [([(0, 9)], person(0), 9), ([(9, 12)], person(0, 0.1), 3)])
    timeline = stitch([chunk], SpeakerHints(exact=1))
    assert len(timeline.speakers) == 2
    assert timeline.warnings[0].startswith("--speakers 1: 2 speakers are kept")


def test_stitch_when_voices_of_two_parts_are_alike_then_one_speaker() -> None:
    """Who needed two answers for a chunk knows nothing of the first in the second."""
    voices = [([(0, 9)], person(0), 9), ([(9, 18)], person(1), 9), ([(20, 29)], person(0, 0.1), 9)]
    timeline = stitch([local_chunk(0, voices, parts=(0, 0, 1))], NO_HINTS)
    assert _turns(timeline) == [
        (0, 9, "SPEAKER_00"),
        (9, 18, "SPEAKER_01"),
        (20, 29, "SPEAKER_00"),
    ]
    assert len(stitch([local_chunk(0, voices, parts=(0, 0, 0))], NO_HINTS).speakers) == 3


def test_stitch_when_part_is_the_same_in_two_chunks_then_they_are_two_parts() -> None:
    chunks = [
        local_chunk(0, [([(0, 9)], person(0), 9)], parts=(1,)),
        local_chunk(1, [([(20, 29)], person(0, 0.1), 9)], parts=(1,)),
    ]
    assert stitch(chunks, NO_HINTS).speakers == ("SPEAKER_00",)


def test_stitch_when_a_short_voice_has_no_embedding_then_it_may_join_a_voice_of_another_part() -> (
    None
):
    voices = [([(0, 20)], person(0), 20), ([(21, 22)], None, 0)]
    assert stitch([local_chunk(0, voices, parts=(0, 1))], NO_HINTS).speakers == ("SPEAKER_00",)
    assert len(stitch([local_chunk(0, voices, parts=(0, 0))], NO_HINTS).speakers) == 2


def test_stitch_when_voice_talks_three_seconds_then_it_is_a_speaker() -> None:
    chunks = [
        local_chunk(0, [([(0, 200)], person(0), 190)]),
        local_chunk(1, [([(300, 303)], person(1), 3)]),
        local_chunk(2, [([(600, 800)], person(0, 0.2), 190)]),
    ]
    timeline = stitch(chunks, NO_HINTS)
    assert timeline.speakers == ("SPEAKER_00", "SPEAKER_01")
    assert (300, 303, "SPEAKER_01") in _turns(timeline)


def test_stitch_when_turns_of_a_speaker_touch_then_one_turn() -> None:
    chunks = [
        local_chunk(0, [([(0, 300.0)], person(0), 300)]),
        local_chunk(1, [([(300.0, 310), (311, 312)], person(0), 10)]),
    ]
    assert _turns(stitch(chunks, NO_HINTS)) == [
        (0, 310, "SPEAKER_00"),
        (311, 312, "SPEAKER_00"),
    ]


def test_stitch_when_speakers_overlap_then_both_turns_are_kept() -> None:
    chunk = local_chunk(0, [([(0, 10)], person(0), 6), ([(6, 8)], person(1), 2)])
    assert _turns(stitch([chunk], NO_HINTS)) == [(0, 10, "SPEAKER_00"), (6, 8, "SPEAKER_01")]


@pytest.mark.parametrize(
    "useless", [None, np.full(16, np.nan, np.float32), np.zeros(16, np.float32)]
)
@pytest.mark.parametrize(("end_s", "speaker"), [(301.0, "SPEAKER_01"), (303.0, "SPEAKER_02")])
def test_stitch_when_embedding_is_useless_then_short_voice_joins_nearest_in_time(
    useless: np.ndarray | None, end_s: float, speaker: str
) -> None:
    chunks = [
        local_chunk(0, [([(0, 100)], person(0), 90), ([(200, 290)], person(1), 90)]),
        local_chunk(1, [([(300, end_s)], useless, 0)]),
        local_chunk(2, [([(600, 700)], person(0), 90)]),
    ]
    timeline = stitch(chunks, NO_HINTS)
    assert (300, end_s, speaker) in _turns(timeline)
    decision = next(row for row in timeline.decisions if row.chunk_index == 1)
    assert (decision.similarity, decision.runner_up, decision.margin) == (None, None, None)


def test_stitch_when_nobody_has_an_embedding_then_a_chunk_keeps_its_speakers_apart() -> None:
    chunk = local_chunk(0, [([(0, 1)], None, 0), ([(1, 2)], None, 0)])
    assert stitch([chunk], NO_HINTS).speakers == ("SPEAKER_00", "SPEAKER_01")


def test_stitch_when_turn_has_no_speaker_record_then_turn_is_kept() -> None:
    chunk = local_chunk(0, [([(0, 5)], person(0), 5)])
    bare = type(chunk)(0, chunk.turns, ())
    assert _turns(stitch([bare], NO_HINTS)) == [(0, 5, "SPEAKER_00")]


def test_stitch_when_speaker_has_no_turn_then_no_empty_label() -> None:
    chunk = local_chunk(0, [([(0, 5)], person(0), 5), ([], person(1), 5)])
    assert stitch([chunk], NO_HINTS).speakers == ("SPEAKER_00",)


def test_stitch_when_too_few_voices_then_minimum_is_reported_not_filled() -> None:
    chunk = local_chunk(0, [([(0, 5)], person(0), 5)])
    timeline = stitch([chunk], SpeakerHints(minimum=3))
    assert timeline.speakers == ("SPEAKER_00",)
    assert timeline.warnings == ("--min-speakers 3: only 1 different voices were found",)


@pytest.mark.parametrize(
    ("hints", "count", "split"),
    [
        (SpeakerHints(), 2, 0),
        (SpeakerHints(exact=3), 3, 1),
        (SpeakerHints(exact=1), 1, 0),
        (SpeakerHints(minimum=4), 4, 2),
        (SpeakerHints(maximum=1), 1, 0),
        (SpeakerHints(minimum=2, maximum=3), 2, 0),
    ],
)
def test_stitch_when_hinted_then_obeyed_and_split_voices_are_named(
    hints: SpeakerHints, count: int, split: int
) -> None:
    chunks = [
        local_chunk(0, [([(0, 9)], person(0), 9)]),
        local_chunk(1, [([(10, 19)], person(0, 0.4, 1), 9)]),
        local_chunk(2, [([(20, 29)], person(1), 9)]),
        local_chunk(3, [([(30, 39)], person(1, 0.4, 2), 9)]),
    ]
    timeline = stitch(chunks, hints)
    assert len(timeline.speakers) == count
    assert {turn.speaker for turn in timeline.turns} == set(timeline.speakers)
    # Two people, twice each: the third and fourth speaker are people that were split.
    assert len(timeline.warnings) == split
    assert all(" sound like one person (similarity 0." in line for line in timeline.warnings)


def test_stitch_when_25_speakers_then_25_labels() -> None:
    directions = np.eye(25, dtype=np.float32)
    chunks = [
        local_chunk(
            index,
            [
                ([(300 * index + 9 * k, 300 * index + 9 * k + 8)], directions[k], 8)
                for k in range(25)
            ],
        )
        for index in range(3)
    ]
    timeline = stitch(chunks, NO_HINTS)
    assert timeline.speakers == tuple(f"SPEAKER_{k:02d}" for k in range(25))
    assert timeline.turns[24].speaker == "SPEAKER_24"


def test_stitch_when_ten_hours_long_then_memory_is_bounded_and_all_are_found() -> None:
    """Chunks of 300 s with 8 of 16 people each, a voice for every turn, of the real size."""
    random = np.random.default_rng(0)
    people = random.normal(size=(16, 192)) / np.sqrt(192)

    def heard(who: int) -> np.ndarray:
        vector = people[who] + 0.7 * random.normal(size=192) / np.sqrt(192)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    chunks, expected = [], []
    for index in range(120):
        voices, sounds = [], {}
        for order, who in enumerate(random.permutation(16)[:8].tolist()):
            starts = [300.0 * index + 70 * turn + 5 * order for turn in range(4)]
            spans = [(start, start + 4) for start in starts]
            sounds |= {span: heard(who) for span in spans}
            voices.append((spans, heard(who), 20.0))
            expected.append(who)
        chunks.append(local_chunk(index, voices, sounds=sounds))
    tracemalloc.start()
    timeline = stitch(chunks, NO_HINTS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(timeline.turns) == 120 * 8 * 4
    order = sorted(timeline.decisions, key=lambda one: (one.chunk_index, one.local_speaker))
    pairs = {(one.speaker, who) for one, who in zip(order, expected, strict=True)}
    assert len(pairs) == len(timeline.speakers) == 16
    assert all(not one.moved for one in timeline.decisions)
    # Each turn compared with each would take 118 MB, each frame with each 36 TB.
    assert peak < 100e6


def test_decision_when_voice_is_placed_then_cosines_are_those_of_the_centres() -> None:
    # Angles in one plane: 0° and 20° are one speaker, 90° the other.
    def at(degrees: float) -> np.ndarray:
        angle = np.radians(degrees)
        return np.array([np.cos(angle), np.sin(angle)], dtype=np.float32)

    chunks = [
        local_chunk(0, [([(0, 9)], at(0), 9)]),
        local_chunk(1, [([(10, 19)], at(20), 9), ([(20, 29)], at(90), 9)]),
    ]
    first, second, third = stitch(chunks, NO_HINTS).decisions
    assert (first.chunk_index, first.local_speaker, first.speaker) == (0, 0, "SPEAKER_00")
    assert first.similarity == pytest.approx(np.cos(np.radians(20)))
    assert first.runner_up == "SPEAKER_01"
    assert first.runner_up_similarity == pytest.approx(0.0, abs=1e-6)
    assert second.margin == pytest.approx(np.cos(np.radians(20)) - np.cos(np.radians(70)))
    assert third.similarity is None  # alone in its cluster
    assert third.margin is None
    assert third.runner_up == "SPEAKER_00"
    assert third.runner_up_similarity == pytest.approx(np.cos(np.radians(80)))


def test_span_when_joined_then_longest_end_wins() -> None:
    chunk = local_chunk(0, [([(0, 10), (2, 3)], person(0), 9)])
    assert [turn.span for turn in stitch([chunk], NO_HINTS).turns] == [TimeSpan(0, 10)]


def test_stitch_when_a_speaker_is_hardly_heard_then_reported_and_kept() -> None:
    chunks = [
        local_chunk(0, [([(0, 12)], person(0), 12), ([(12, 13.5)], person(1), 1.5)]),
    ]
    timeline = stitch(chunks, NO_HINTS)
    assert timeline.speakers == ("SPEAKER_00", "SPEAKER_01")
    assert timeline.warnings == ("SPEAKER_01 talks for 1.5 s in all and may be no person",)


def test_stitch_when_everybody_is_brief_then_nobody_is_suspected() -> None:
    chunks = [local_chunk(0, [([(0, 4)], person(0), 4), ([(4, 5)], person(1), 1)])]
    assert stitch(chunks, NO_HINTS).warnings == ()
