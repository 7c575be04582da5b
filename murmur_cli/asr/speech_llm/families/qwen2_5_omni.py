"""Qwen2.5-Omni's thinker: plain text, in blocks of two seconds of audio.

Source: transformers 5.24, `models/qwen2_5_omni`; the cookbook on audio understanding of
Qwen2.5-Omni, which gives the system prompts and puts the request before the audio.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from murmur_cli.asr.speech_llm.family import Ask, PromptTokens
from murmur_cli.asr.speech_llm.qwen_omni import TURN_BEGIN, TURN_END, QwenOmni
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits

SYSTEM = {
    "transcribe": "You are a speech recognition model.",
    "translate": "You are a speech translation model.",
}

MIN_FRAMES = 3
"""Fewer frames give no speech entry."""


class Qwen2_5Omni(QwenOmni):
    """Qwen2_5OmniThinkerForConditionalGeneration.

    `max_chunk_s`: the published extractor takes 300 seconds, after which the library cuts.
    """

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="qwen2_5_omni",
        label="Qwen2.5-Omni",
        sample_rate_hz=16_000,
        speech_tokens_per_s=25.0,
        output_tokens_per_s=4.0,
        max_output_tokens_per_s=30.0,
        carries_speakers=False,
        carries_times=False,
        max_chunk_s=300.0,
        tasks=("transcribe", "translate"),
        takes_context=True,
        takes_language=True,
    )
    audio_begin = "<|audio_bos|>"
    audio_end = "<|audio_eos|>"

    @classmethod
    def thinker_type(cls) -> Any:
        """Of transformers."""
        from transformers import Qwen2_5OmniThinkerForConditionalGeneration

        return Qwen2_5OmniThinkerForConditionalGeneration

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Frames of the audio as the processor makes them, which pads it with silence first."""
        frames = self._frames(audio.shape[0])
        samples = frames * self.processor.hop_length + self.processor.n_fft
        padded = torch.nn.functional.pad(audio, (0, samples - audio.shape[0]))
        spectrum = self._spectrum(padded)[:, :, :frames]
        mask = torch.ones(spectrum.shape[::2], dtype=torch.long)
        return {"input_features": spectrum, "feature_attention_mask": mask}

    def speech_entries(self, samples: int) -> int:
        """A convolution and a pooling halve the frames; a pool that is not full is dropped."""
        return -(-self._frames(samples) // 2) // 2

    def prompt(self, ask: Ask) -> PromptTokens:
        """System, request, audio."""
        system = (TURN_BEGIN, f"system\n{SYSTEM[ask.task]}", TURN_END, "\n")
        request = (TURN_BEGIN, f"user\n{self._request(ask)}", self.audio_begin)
        answer = (self.audio_end, TURN_END, "\n", TURN_BEGIN, "assistant\n")
        return PromptTokens(self._encode((*system, *request)), self._encode(answer))

    def _frames(self, samples: int) -> int:
        return max(MIN_FRAMES, -(-samples // int(self.processor.hop_length)))
