"""Qwen3-Omni's thinker: plain text, a mixture of experts of which few speak for each token.

Source: transformers 5.24, `models/qwen3_omni_moe`; 'Setting for Evaluation' of Qwen3-Omni's
README: no system prompt, the request after the audio.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch

from murmur_cli.asr.speech_llm.family import Ask, PromptTokens
from murmur_cli.asr.speech_llm.qwen_omni import TURN_BEGIN, TURN_END, QwenOmni
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits

BLOCK_ENTRIES = 13
"""Speech entries of a full block (`_get_feat_extract_output_lengths`)."""


class Qwen3Omni(QwenOmni):
    """Qwen3OmniMoeThinkerForConditionalGeneration.

    `max_chunk_s`: the technical report trains on up to 40 minutes of audio.
    """

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="qwen3_omni_moe",
        label="Qwen3-Omni",
        sample_rate_hz=16_000,
        speech_tokens_per_s=13.0,
        output_tokens_per_s=4.0,
        max_output_tokens_per_s=30.0,
        carries_speakers=False,
        carries_times=False,
        max_chunk_s=2400.0,
        tasks=("transcribe", "translate"),
        takes_context=True,
        takes_language=True,
    )
    audio_begin = "<|audio_start|>"
    audio_end = "<|audio_end|>"

    @classmethod
    def thinker_type(cls) -> Any:
        """Of transformers."""
        from transformers import Qwen3OmniMoeThinkerForConditionalGeneration

        return Qwen3OmniMoeThinkerForConditionalGeneration

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Frames of the audio; less than a frame's window is padded with silence."""
        samples = max(audio.shape[0], self.processor.n_fft)
        spectrum = self._spectrum(torch.nn.functional.pad(audio, (0, samples - audio.shape[0])))
        mask = torch.ones(spectrum.shape[::2], dtype=torch.long)
        return {"input_features": spectrum, "feature_attention_mask": mask}

    def speech_entries(self, samples: int) -> int:
        """Of whole blocks, and of the frames left, which three convolutions halve, each up."""
        frames = max(samples, self.processor.n_fft) // self.processor.hop_length
        blocks, left = divmod(frames, 2 * self.model.config.audio_config.n_window)
        return int(blocks * BLOCK_ENTRIES + -(-left // 8))

    def prompt(self, ask: Ask) -> PromptTokens:
        """Audio, request."""
        before = (TURN_BEGIN, "user\n", self.audio_begin)
        request = (self.audio_end, self._request(ask), TURN_END, "\n")
        answer = (TURN_BEGIN, "assistant\n")
        return PromptTokens(self._encode(before), self._encode((*request, *answer)))
