"""What the pipeline asks of a voice activity detector."""

from __future__ import annotations

from typing import Protocol

from murmur_cli.types import ModelIdentity, SampleSource, SampleSpan


class VoiceActivityDetector(Protocol):
    """Finds where someone speaks."""

    @property
    def identity(self) -> ModelIdentity:
        """The weights in use."""

    def detect(self, samples: SampleSource) -> tuple[SampleSpan, ...]:
        """Speech in order of time, apart from each other, within the audio.

        samples: (samples,) float32, 16 kHz, an array or on disk. Empty if there is no speech.
        """
