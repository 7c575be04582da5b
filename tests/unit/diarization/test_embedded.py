"""The whole local diarizer on real audio."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.diarization.base import ToldTurn, hints_for_chunk
from murmur_cli.diarization.embedded import EmbeddedDiarizer
from murmur_cli.models.weights import packaged_file
from murmur_cli.stitching.stitch import SAME_SPEAKER_COSINE, stitch
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    LocalTurn,
    SampleSpan,
    SpeakerHints,
    TimeSpan,
    Window,
)

pytestmark = pytest.mark.embedded


@pytest.fixture(scope="module")
def diarizer() -> EmbeddedDiarizer:
    segmentation, embedding = packaged_file("segmentation-3.0"), packaged_file("campplus")
    identities = (segmentation.identity, embedding.identity)
    return EmbeddedDiarizer(segmentation.path, embedding.path, identities)


@pytest.fixture(scope="module")
def samples(sample_wav: Path) -> np.ndarray:
    return soundfile.read(sample_wav, dtype="float32")[0]


def _chunk(start: int, end: int, index: int = 0) -> Chunk:
    span = SampleSpan(start, end)
    return Chunk(index, span, (Window(span, (span,), (span,)),))


def _error_rate(found: ChunkDiarization, rttm: Path) -> float:
    from pyannote.core import Annotation, Segment, Timeline
    from pyannote.metrics.diarization import DiarizationErrorRate

    reference, hypothesis = Annotation(), Annotation()
    for row, line in enumerate(rttm.read_text().splitlines()):
        fields = line.split()
        start, length = float(fields[3]), float(fields[4])
        reference[Segment(start, start + length), row] = fields[7]
    for row, turn in enumerate(found.turns):
        hypothesis[Segment(turn.span.start_s, turn.span.end_s), row] = str(turn.local_speaker)
    metric = DiarizationErrorRate(collar=0.0, skip_overlap=False)
    return float(metric(reference, hypothesis, uem=Timeline([Segment(0.0, 30.0)])))


@pytest.mark.filterwarnings("ignore")
def test_diarize_when_real_conversation_then_two_speakers_and_few_errors(
    diarizer: EmbeddedDiarizer, samples: np.ndarray, sample_wav: Path
) -> None:
    found = diarizer.diarize(samples, _chunk(0, len(samples)))
    assert [speaker.local_speaker for speaker in found.speakers] == [0, 1]
    assert _error_rate(found, sample_wav.with_suffix(".rttm")) < 0.20
    assert list(found.turns) == sorted(found.turns)
    firsts = [
        min(turn.span.start_s for turn in found.turns if turn.local_speaker == number)
        for number in (0, 1)
    ]
    assert firsts == sorted(firsts)
    for speaker in found.speakers:
        assert speaker.clean_s > 5
        assert speaker.embedding is not None
        assert float(np.linalg.norm(speaker.embedding)) == pytest.approx(1.0, abs=1e-5)
    assert [identity.name for identity in diarizer.identities] == ["segmentation-3.0", "campplus"]


def test_diarize_when_run_twice_then_same_result(
    diarizer: EmbeddedDiarizer, samples: np.ndarray
) -> None:
    first, second = (diarizer.diarize(samples, _chunk(0, 320_000)) for _ in range(2))
    assert first.turns == second.turns


@pytest.mark.parametrize("count", [1, 3])
def test_diarize_when_count_is_given_then_that_many(
    diarizer: EmbeddedDiarizer, samples: np.ndarray, count: int
) -> None:
    found = diarizer.diarize(samples, _chunk(0, len(samples)), hints=SpeakerHints(exact=count))
    assert {turn.local_speaker for turn in found.turns} == set(range(count))


def test_diarize_when_chunk_starts_late_then_times_count_from_the_recording(
    diarizer: EmbeddedDiarizer, samples: np.ndarray
) -> None:
    found = diarizer.diarize(samples, _chunk(160_000, 320_000, index=7))
    assert found.chunk_index == 7
    assert all(10.0 <= turn.span.start_s < turn.span.end_s <= 20.0 for turn in found.turns)
    assert sum(turn.span.duration_s for turn in found.turns) > 8


@pytest.mark.parametrize("length", [1, 300, 4_000, 20_000])
def test_diarize_when_chunk_is_tiny_then_valid_result(
    diarizer: EmbeddedDiarizer, samples: np.ndarray, length: int
) -> None:
    found = diarizer.diarize(samples, _chunk(180_000, 180_000 + length))
    end_s = (180_000 + length) / 16_000
    assert all(11.25 <= turn.span.start_s < turn.span.end_s <= end_s for turn in found.turns)
    assert {turn.local_speaker for turn in found.turns} == {
        speaker.local_speaker for speaker in found.speakers
    }


def test_diarize_when_silence_then_nobody(diarizer: EmbeddedDiarizer) -> None:
    silence = np.zeros(16_000 * 12, dtype=np.float32)
    found = diarizer.diarize(silence, _chunk(0, len(silence)))
    assert found == ChunkDiarization(0, (), ())


def test_diarize_when_chunk_has_no_speech_span_then_networks_are_not_asked(
    diarizer: EmbeddedDiarizer, samples: np.ndarray
) -> None:
    chunk = Chunk(0, SampleSpan(0, len(samples)), ())
    assert diarizer.diarize(samples, chunk) == ChunkDiarization(0, (), ())


def test_diarize_when_turn_meets_no_speech_span_then_left_out(
    diarizer: EmbeddedDiarizer, samples: np.ndarray
) -> None:
    whole = SampleSpan(0, len(samples))
    speech = SampleSpan(22 * 16_000, 24 * 16_000)  # inside one turn of speaker91
    found = diarizer.diarize(samples, Chunk(0, whole, (Window(whole, (speech,), (whole,)),)))
    (turn,) = found.turns
    assert turn.span.start_s < 22.0 < 24.0 < turn.span.end_s
    assert len(found.speakers) == 1


@pytest.mark.parametrize(
    ("hints", "num_chunks", "expected"),
    [
        (SpeakerHints(exact=3), 1, SpeakerHints(exact=3)),
        (SpeakerHints(exact=3), 2, SpeakerHints(maximum=3)),
        (SpeakerHints(minimum=2, maximum=5), 4, SpeakerHints(maximum=5)),
        (SpeakerHints(), 4, SpeakerHints()),
    ],
)
def test_hints_when_several_chunks_then_only_the_upper_bound_stays(
    hints: SpeakerHints, num_chunks: int, expected: SpeakerHints
) -> None:
    assert hints_for_chunk(hints, num_chunks) == expected


def _told(rttm: Path, names: list[str], span: SampleSpan, part: int = 0) -> list[ToldTurn]:
    """The reference's turns in a chunk, as a recogniser would tell them; numbers as in `names`."""
    told = []
    for line in rttm.read_text().splitlines():
        fields = line.split()
        start = max(float(fields[3]), span.time.start_s)
        end = min(float(fields[3]) + float(fields[4]), span.time.end_s)
        if start < end:
            told.append(ToldTurn(LocalTurn(TimeSpan(start, end), names.index(fields[7])), part))
    return told


def test_voices_when_speakers_are_told_then_they_link_across_chunks(
    diarizer: EmbeddedDiarizer, samples: np.ndarray, sample_wav: Path
) -> None:
    rttm = sample_wav.with_suffix(".rttm")
    names = sorted({line.split()[7] for line in rttm.read_text().splitlines()})
    first, second = _chunk(0, 17 * 16_000), _chunk(17 * 16_000, len(samples), 1)
    found = [
        diarizer.voices(samples, first, _told(rttm, names, first.span)),
        # Numbers of another chunk mean nothing in this one.
        diarizer.voices(samples, second, _told(rttm, names[::-1], second.span, part=2)),
    ]
    assert [speaker.local_speaker for chunk in found for speaker in chunk.speakers] == [0, 1, 0, 1]
    assert [speaker.part for chunk in found for speaker in chunk.speakers] == [0, 0, 2, 2]
    for chunk in found:
        for speaker in chunk.speakers:
            assert speaker.clean_s > 1.0
            assert speaker.embedding is not None
            assert np.linalg.norm(speaker.embedding) == pytest.approx(1.0, abs=1e-5)
    voice = {
        (chunk.chunk_index, speaker.local_speaker): speaker.embedding
        for chunk in found
        for speaker in chunk.speakers
    }
    same = min(float(voice[0, 0] @ voice[1, 1]), float(voice[0, 1] @ voice[1, 0]))
    other = max(float(voice[0, 0] @ voice[1, 0]), float(voice[0, 1] @ voice[1, 1]))
    assert same > SAME_SPEAKER_COSINE > other
    label = {
        (one.chunk_index, one.local_speaker): one.speaker
        for one in stitch(found, SpeakerHints()).decisions
    }
    assert label[0, 0] == label[1, 1] != label[0, 1] == label[1, 0]


def test_voices_when_nobody_is_told_then_none(
    diarizer: EmbeddedDiarizer, samples: np.ndarray
) -> None:
    assert diarizer.voices(samples, _chunk(0, 160_000), []) == ChunkDiarization(0, (), ())


def test_voices_when_a_turn_is_too_short_then_the_speaker_has_no_embedding(
    diarizer: EmbeddedDiarizer, samples: np.ndarray
) -> None:
    turn = LocalTurn(TimeSpan(7.0, 7.3), 0)
    found = diarizer.voices(samples, _chunk(0, 160_000), [ToldTurn(turn)])
    assert found.turns == (turn,)
    (speaker,) = found.speakers
    assert (speaker.clean_s, speaker.embedding) == (0.0, None)
