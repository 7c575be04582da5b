"""Which curve a recording goes by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from murmur_cli.chunk_advice import advised, measured_kind, stretches
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    LocalTurn,
    Samples,
    SampleSpan,
    TimeSpan,
)
from murmur_cli.types.audio_kind import AudioKind, ChunkCurve
from support.fake_stages import OneVoice

HZ = 16_000


class TwoAtOnce(OneVoice):
    """Both talk throughout; `heard` are the chunks that it was asked for."""

    def __init__(self) -> None:
        self.heard: list[Chunk] = []

    def diarize(self, samples: Samples, chunk: Chunk, **_: object) -> ChunkDiarization:
        self.heard.append(chunk)
        return ChunkDiarization(
            chunk.index, tuple(LocalTurn(chunk.span.time, one) for one in (0, 1)), ()
        )


def seconds(spans: Sequence[SampleSpan]) -> list[TimeSpan]:
    return [span.time for span in spans]


def test_stretches_when_speech_is_long_then_six_around_even_moments() -> None:
    """Two minutes in two halves: moments at 10, 30 and 50 s of each half."""
    speech = [SampleSpan(0, 60 * HZ), SampleSpan(100 * HZ, 160 * HZ)]
    assert seconds(stretches(speech, 200 * HZ)) == [
        TimeSpan(start, start + 10.0) for start in (5.0, 25.0, 45.0, 105.0, 125.0, 145.0)
    ]


def test_stretches_when_speech_is_short_then_one_within_the_recording() -> None:
    assert seconds(stretches([SampleSpan(0, 2 * HZ)], 3 * HZ)) == [TimeSpan(0.0, 3.0)]


def test_stretches_when_speech_lies_close_then_they_do_not_overlap() -> None:
    speech = [SampleSpan(0, 25 * HZ)]
    assert seconds(stretches(speech, 25 * HZ)) == [TimeSpan(1.25, 11.25), TimeSpan(13.75, 23.75)]


def test_kind_when_people_talk_at_once_then_noisy_though_the_level_is_clean() -> None:
    samples = np.zeros(40 * HZ, np.float32)
    samples[: 20 * HZ] = 0.1
    speech = [SampleSpan(0, 20 * HZ)]
    diarizer = TwoAtOnce()
    assert measured_kind(samples, speech, diarizer) is AudioKind.NOISY
    assert len(diarizer.heard) == 2
    assert all(chunk.speech for chunk in diarizer.heard)
    assert measured_kind(samples, speech, OneVoice()) is AudioKind.CLEAN
    assert measured_kind(samples, speech, None) is AudioKind.CLEAN


def test_advice_when_curves_are_of_several_kinds_then_the_first_that_fits() -> None:
    curves = [
        ChunkCurve("m", AudioKind.CLEAN, 300.0, "first"),
        ChunkCurve("m", AudioKind.NOISY, 60.0, "second"),
        ChunkCurve("m", AudioKind.NOISY, 30.0, "third"),
    ]
    assert advised(curves, AudioKind.NOISY) is curves[1]
    assert advised(curves[:1], AudioKind.NOISY) is None
