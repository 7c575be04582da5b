"""What is known of a model family before any weights are loaded."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.policies.base import RequestRates


@dataclass(frozen=True, slots=True)
class SpeechLlmTraits:
    """Facts that the pipeline, the policies and the memory plan need.

    Attributes:
        model_type: `model_type` in the folder's config.json.
        label: the family's name for people.
        sample_rate_hz: of the audio that its encoder takes.
        speech_tokens_per_s: entries of the speech region for a second of audio.
        output_tokens_per_s: tokens usually decoded for a second of audio, marks included.
        max_output_tokens_per_s: more than speech can be; the loop guard's ceiling.
        carries_speakers: whether the output says who speaks.
        carries_times: whether the output says when.
        max_chunk_s: longest audio that the model is meant for.
        tasks: of '--task'.
        takes_context: whether its prompt has room for names and terms that may be spoken.
        takes_language: whether its prompt can name the language.
    """

    model_type: str
    label: str
    sample_rate_hz: int
    speech_tokens_per_s: float
    output_tokens_per_s: float
    max_output_tokens_per_s: float
    carries_speakers: bool
    carries_times: bool
    max_chunk_s: float
    tasks: tuple[str, ...] = ("transcribe",)
    takes_context: bool = False
    takes_language: bool = False

    def rates(self, chunk_s: float) -> RequestRates:
        """For the policies' defaults, at a ceiling of the chunks in seconds."""
        return RequestRates(
            speech_entries_per_s=self.speech_tokens_per_s,
            output_tokens_per_s=self.output_tokens_per_s,
            request_s=chunk_s,
        )

    @property
    def guard(self) -> LoopGuard:
        """The loop guard with this family's ceiling."""
        return LoopGuard(max_tokens_per_s=self.max_output_tokens_per_s, free_tokens=64)
