"""Probabilities of speech, frame by frame -> spans of speech.

The rules are those of `get_speech_timestamps` of the package silero-vad (MIT), in integer
samples: speech begins at a frame that reaches the threshold, and ends where the probability
fell below the lower release threshold, if it stays below the threshold for long enough.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from murmur_cli.types import SampleSpan


@dataclass(frozen=True, slots=True)
class SpeechRule:
    """When frames count as speech.

    Attributes:
        threshold: probability at which speech begins, in (0, 1).
        release_threshold: probability under which it may end, at most `threshold`.
        min_silence_samples: shorter pauses do not end it.
        min_speech_samples: what is not longer than this is dropped, before padding.
        padding_samples: added on both sides; half the pause where two paddings would meet.
    """

    threshold: float
    release_threshold: float
    min_silence_samples: int
    min_speech_samples: int
    padding_samples: int


def find_speech_spans(
    probabilities: Iterable[float], *, frame_samples: int, audio_samples: int, rule: SpeechRule
) -> tuple[SampleSpan, ...]:
    """Spans of speech in order; they may touch but do not overlap, and lie within the audio."""
    raw = _raw_spans(probabilities, frame_samples, audio_samples, rule)
    starts = [start for start, _ in raw]
    ends = [end for _, end in raw]
    if not raw:
        return ()
    starts[0] = max(0, starts[0] - rule.padding_samples)
    ends[-1] = min(audio_samples, ends[-1] + rule.padding_samples)
    for left in range(len(raw) - 1):
        padding = min(rule.padding_samples, (starts[left + 1] - ends[left]) // 2)
        ends[left] += padding
        starts[left + 1] -= padding
    return tuple(SampleSpan(start, end) for start, end in zip(starts, ends, strict=True))


def _raw_spans(
    probabilities: Iterable[float], frame_samples: int, audio_samples: int, rule: SpeechRule
) -> list[tuple[int, int]]:
    """Spans before padding."""
    spans: list[tuple[int, int]] = []
    start: int | None = None
    silence_start: int | None = None
    for index, probability in enumerate(probabilities):
        position = index * frame_samples
        if probability >= rule.threshold:
            silence_start = None
            if start is None:
                start = position
        elif start is not None and probability < rule.release_threshold:
            if silence_start is None:
                silence_start = position
            if position - silence_start >= rule.min_silence_samples:
                spans.append((start, silence_start))
                start = silence_start = None
    if start is not None:
        spans.append((start, audio_samples))
    return [(start, end) for start, end in spans if end - start > rule.min_speech_samples]
