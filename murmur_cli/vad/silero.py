"""Speech found by Silero VAD, with the weights of the PyPI package silero-vad."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from murmur_cli.timebase import to_samples
from murmur_cli.types import ModelIdentity, SampleSource, SampleSpan
from murmur_cli.vad.detector_gain import detector_gain
from murmur_cli.vad.silero_weights import read_silero_weights, silero_identity
from murmur_cli.vad.speech_spans import SpeechRule, find_speech_spans

if TYPE_CHECKING:
    from murmur_cli.vad.silero_network import SileroNetwork


@dataclass(frozen=True)
class SileroVad:
    """Voice activity detector; the network is loaded by the first call of `detect`.

    The defaults are for meetings: a far, quiet speaker must not be lost, and some non-speech
    beside speech does no harm. A quiet recording is turned up for the network, see
    `detector_gain`.

    Attributes:
        threshold: probability at which speech begins, in (0, 1).
        release_threshold: probability under which it may end, at most `threshold`.
        min_speech_s: shorter stretches are dropped.
        min_silence_s: shorter pauses do not divide.
        padding_s: added before and after; half the pause where it is shorter than two of these.
    """

    threshold: float = 0.35
    release_threshold: float = 0.2
    min_speech_s: float = 0.1
    min_silence_s: float = 0.3
    padding_s: float = 0.2

    def __post_init__(self) -> None:
        assert 0.0 < self.release_threshold <= self.threshold < 1.0, self
        assert min(self.min_speech_s, self.min_silence_s, self.padding_s) >= 0.0, self

    @cached_property
    def identity(self) -> ModelIdentity:
        """Release and hash of the weights.

        Raises:
            ModelError: the package is missing.
        """
        return silero_identity()

    def detect(self, samples: SampleSource) -> tuple[SampleSpan, ...]:
        """Speech in order of time; spans may touch but do not overlap.

        samples: (samples,) float32, 16 kHz, an array or on disk. Empty if there is no speech.

        Raises:
            ModelError: the weights are missing or damaged.
        """
        from murmur_cli.vad.silero_features import FRAME_SAMPLES

        if not len(samples):
            return ()
        probabilities = self._network.probabilities(samples, detector_gain(samples))
        return find_speech_spans(
            probabilities.data,
            frame_samples=FRAME_SAMPLES,
            audio_samples=len(samples),
            rule=self._rule,
        )

    @cached_property
    def _network(self) -> SileroNetwork:
        from murmur_cli.vad.silero_network import SileroNetwork

        return SileroNetwork(read_silero_weights())

    @property
    def _rule(self) -> SpeechRule:
        return SpeechRule(
            threshold=self.threshold,
            release_threshold=self.release_threshold,
            min_silence_samples=to_samples(self.min_silence_s),
            min_speech_samples=to_samples(self.min_speech_s),
            padding_samples=to_samples(self.padding_s),
        )
