"""Names from known voices, with cosines that are known by construction."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.errors import UsageError
from murmur_cli.stitching.known_voices import name_speakers, speaker_voices
from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import KnownVoice, SpeakerHints, VoiceClip
from support.voices import local_chunk, person

NO_HINTS = SpeakerHints()


def _known(name: str, *vectors: np.ndarray) -> KnownVoice:
    return KnownVoice(
        name,
        tuple(VoiceClip(f"{n}.wav", f"{n:064d}", 10.0, one) for n, one in enumerate(vectors)),
    )


def _between(one: int, other: int, cosine: float) -> np.ndarray:
    """A unit vector of that cosine to one person, and the rest to another."""
    vector = cosine * person(one) + np.sqrt(1 - cosine**2) * person(other)
    return vector.astype(np.float32)


CHUNKS = [
    local_chunk(0, [([(0, 9)], person(0), 9), ([(9, 12)], person(1), 3)]),
    local_chunk(1, [([(300, 320)], person(1, 0.3, 1), 20), ([(321, 330)], person(2), 9)]),
]


def test_names_when_voices_are_known_then_turns_speakers_and_decisions_have_them() -> None:
    timeline, matches = name_speakers(
        stitch(CHUNKS, NO_HINTS),
        CHUNKS,
        [_known("Jane Roe", person(1)), _known("X", person(7))],
        0.5,
    )
    assert timeline.speakers == ("SPEAKER_00", "Jane Roe", "SPEAKER_02")
    assert [turn.speaker for turn in timeline.turns] == [
        "SPEAKER_00",
        "Jane Roe",
        "Jane Roe",
        "SPEAKER_02",
    ]
    assert {d.speaker for d in timeline.decisions} == set(timeline.speakers)
    assert all(d.runner_up in (*timeline.speakers, None) for d in timeline.decisions)
    assert [(m.label, m.name, m.best) for m in matches] == [
        ("SPEAKER_00", None, "Jane Roe"),
        ("SPEAKER_01", "Jane Roe", "Jane Roe"),
        ("SPEAKER_02", None, "Jane Roe"),
    ]
    assert matches[1].clean_s == 23
    assert matches[1].similarity is not None
    assert matches[1].similarity > 0.95


@pytest.mark.parametrize(("threshold", "named"), [(0.59, True), (0.61, False)])
def test_names_when_similarity_is_at_the_threshold_then_unknown_below(
    threshold: float, named: bool
) -> None:
    chunks = [local_chunk(0, [([(0, 9)], _between(0, 5, 0.6), 9)])]
    timeline, (match,) = name_speakers(
        stitch(chunks, NO_HINTS), chunks, [_known("Anna", person(0))], threshold
    )
    assert timeline.speakers == (("Anna",) if named else ("SPEAKER_00",))
    assert match.similarity == pytest.approx(0.6, abs=1e-6)


def test_names_when_two_speakers_are_like_one_voice_then_the_nearer_and_a_warning() -> None:
    chunks = [
        local_chunk(0, [([(0, 9)], _between(0, 5, 0.6), 9), ([(9, 20)], _between(0, 6, 0.8), 9)])
    ]
    timeline, matches = name_speakers(
        stitch(chunks, NO_HINTS), chunks, [_known("Anna", person(0))], 0.5
    )
    assert timeline.speakers == ("SPEAKER_00", "Anna")
    assert [match.name for match in matches] == [None, "Anna"]
    assert timeline.warnings[-1].startswith("SPEAKER_00 sounds like Anna, too (similarity 0.60)")


def test_names_when_best_voice_is_taken_then_the_second_if_it_passes() -> None:
    chunks = [local_chunk(0, [([(0, 9)], person(0), 9), ([(9, 20)], _between(0, 1, 0.76), 9)])]
    known = [_known("Anna", person(0)), _known("Ben", person(1))]
    timeline, matches = name_speakers(stitch(chunks, NO_HINTS), chunks, known, 0.5)
    assert timeline.speakers == ("Anna", "Ben")
    assert (matches[1].best, matches[1].runner_up) == ("Ben", "Anna")
    assert matches[1].runner_up_similarity == pytest.approx(0.76, abs=1e-6)


def test_names_when_a_speaker_has_no_embedding_then_unknown_without_evidence() -> None:
    chunks = [local_chunk(0, [([(0, 9)], None, 0)])]
    timeline, (match,) = name_speakers(
        stitch(chunks, NO_HINTS), chunks, [_known("Anna", person(0))], 0.5
    )
    assert timeline.speakers == ("SPEAKER_00",)
    assert (match.best, match.similarity, match.runner_up) == (None, None, None)


def test_names_when_a_stored_voice_is_of_another_length_then_usage_error() -> None:
    known = _known("Jane Roe", np.array([1.0, 0.0], np.float32))
    with pytest.raises(UsageError, match=r"voice of Jane Roe has 2 numbers, those of this run"):
        name_speakers(stitch(CHUNKS, NO_HINTS), CHUNKS, [known], 0.5)


def test_names_when_nobody_speaks_then_nothing() -> None:
    timeline, matches = name_speakers(stitch([], NO_HINTS), [], [_known("A", person(0))], 0.5)
    assert (timeline.speakers, matches) == ((), ())


def test_voices_when_heard_in_chunks_then_mean_weighted_by_clean_seconds() -> None:
    chunks = [
        local_chunk(0, [([(0, 9)], _between(0, 1, 0.8), 30)]),
        local_chunk(1, [([(20, 29)], _between(0, 1, 0.9), 10)]),
    ]
    (voice,) = speaker_voices(stitch(chunks, NO_HINTS), chunks)
    expected = 30 * _between(0, 1, 0.8) + 10 * _between(0, 1, 0.9)
    np.testing.assert_allclose(voice.embedding, expected / np.linalg.norm(expected), atol=1e-6)
    assert voice.clean_s == 40


def test_known_voice_when_it_has_clips_then_mean_weighted_by_clean_seconds() -> None:
    voice = KnownVoice(
        "A", (VoiceClip("a", "0", 3.0, person(0)), VoiceClip("b", "1", 1.0, person(1)))
    )
    assert voice.clean_s == 4.0
    np.testing.assert_allclose(voice.embedding[:2], np.array([3, 1]) / np.sqrt(10), atol=1e-6)
