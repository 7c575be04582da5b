"""Post-processing of probabilities: by hand, and against the package's own."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.types import SampleSpan
from murmur_cli.vad.speech_spans import SpeechRule, find_speech_spans

FRAME = 512


def spans(probabilities: list[float], rule: SpeechRule) -> list[tuple[int, int]]:
    found = find_speech_spans(
        probabilities, frame_samples=FRAME, audio_samples=len(probabilities) * FRAME, rule=rule
    )
    return [(span.start, span.end) for span in found]


def rule(**changes: float) -> SpeechRule:
    values = {
        "threshold": 0.5,
        "release_threshold": 0.3,
        "min_silence_samples": 2 * FRAME,
        "min_speech_samples": 0,
        "padding_samples": 0,
    }
    return SpeechRule(**(values | changes))  # type: ignore[arg-type]


def test_spans_when_one_burst_then_from_first_to_release() -> None:
    assert spans([0, 0.9, 0.9, 0.1, 0.1, 0.1], rule()) == [(FRAME, 3 * FRAME)]


def test_spans_when_probability_dips_between_thresholds_then_goes_on() -> None:
    assert spans([0.9, 0.4, 0.4, 0.4, 0.9, 0, 0, 0], rule()) == [(0, 5 * FRAME)]


def test_spans_when_pause_is_short_then_one_span() -> None:
    assert spans([0.9, 0.1, 0.1, 0.9, 0, 0, 0], rule()) == [(0, 4 * FRAME)]
    assert spans([0.9, 0.1, 0.1, 0.1, 0.9, 0, 0, 0], rule()) == [(0, FRAME), (4 * FRAME, 5 * FRAME)]


def test_spans_when_burst_is_short_then_dropped() -> None:
    assert spans([0.9, 0, 0, 0], rule(min_speech_samples=FRAME)) == []


def test_spans_when_speech_reaches_the_end_then_ends_there() -> None:
    assert spans([0, 0.9, 0.1], rule()) == [(FRAME, 3 * FRAME)]


def test_spans_when_padded_then_within_audio_and_pauses_shared() -> None:
    probabilities = [0.9, 0, 0, 0, 0.9, 0, 0, 0]
    assert spans(probabilities, rule(padding_samples=FRAME)) == [
        (0, 2 * FRAME),
        (3 * FRAME, 6 * FRAME),
    ]
    assert spans(probabilities, rule(padding_samples=5 * FRAME)) == [
        (0, 2 * FRAME + 256),
        (2 * FRAME + 256, 8 * FRAME),
    ]


def test_spans_when_no_frames_then_none() -> None:
    assert find_speech_spans([], frame_samples=FRAME, audio_samples=0, rule=rule()) == ()


@pytest.fixture(scope="module")
def package_rule() -> Callable[..., list[dict[str, int]]]:
    """The package's function; its import sets torch's threads, which is undone."""
    import torch

    threads = torch.get_num_threads()
    from silero_vad import get_speech_timestamps_from_probs

    torch.set_num_threads(threads)
    return get_speech_timestamps_from_probs


@settings(deadline=None, max_examples=100)
@given(
    probabilities=st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.34, 0.4, 0.5, 0.9]), max_size=120),
    cut_samples=st.integers(0, FRAME - 1),
    threshold=st.sampled_from([0.35, 0.5]),
    min_silence_ms=st.sampled_from([0, 32, 100, 300]),
    min_speech_ms=st.sampled_from([0, 100, 250]),
    padding_ms=st.sampled_from([0, 30, 200]),
)
def test_spans_when_random_then_as_the_package(
    package_rule, probabilities, cut_samples, threshold, min_silence_ms, min_speech_ms, padding_ms
) -> None:
    audio_samples = max(0, len(probabilities) * FRAME - cut_samples)
    theirs = package_rule(
        np.float32(probabilities),
        threshold=threshold,
        neg_threshold=0.3,
        min_silence_duration_ms=min_silence_ms,
        min_speech_duration_ms=min_speech_ms,
        speech_pad_ms=padding_ms,
        audio_length_samples=audio_samples,
    )
    ours = find_speech_spans(
        np.float32(probabilities).tolist(),
        frame_samples=FRAME,
        audio_samples=audio_samples,
        rule=SpeechRule(threshold, 0.3, min_silence_ms * 16, min_speech_ms * 16, padding_ms * 16),
    )
    assert list(ours) == [SampleSpan(span["start"], span["end"]) for span in theirs]
