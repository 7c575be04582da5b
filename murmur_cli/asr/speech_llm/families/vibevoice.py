"""VibeVoice-ASR: who, when and what in one output, as a JSON list of segments.

Source: transformers 5.24, `models/vibevoice_asr`; the model card of microsoft/VibeVoice-ASR-HF.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from murmur_cli.asr.speech_llm.family import (
    Ask,
    PromptTokens,
    SpeechLlm,
    SpokenOutput,
    split_at_speech,
)
from murmur_cli.asr.speech_llm.pretrained import pretrained
from murmur_cli.asr.speech_llm.segment_json import read_segments
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits

FRAME = '[{"Start":0.0,"End":0.0,"Speaker":0,"Content":""},{"Start"'
"""Marks around the text, which recur with every segment."""


class VibeVoice(SpeechLlm):
    """VibeVoiceAsrForConditionalGeneration with its processor."""

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="vibevoice_asr",
        label="VibeVoice-ASR",
        sample_rate_hz=24_000,
        speech_tokens_per_s=7.5,
        output_tokens_per_s=9.0,
        max_output_tokens_per_s=30.0,
        carries_speakers=True,
        carries_times=True,
        max_chunk_s=3600.0,
        takes_context=True,
    )

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """Model and processor of transformers."""
        from transformers import AutoProcessor, VibeVoiceAsrForConditionalGeneration

        processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        model = pretrained(
            VibeVoiceAsrForConditionalGeneration, folder, dtype=dtype, device_map=device_map
        )
        return cls(model, processor.tokenizer, processor)

    @property
    def text_model(self) -> Any:
        """Qwen2's layers."""
        return self.model.model.language_model

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """The placeholder of speech and its brackets."""
        config = self.model.config
        return (config.audio_token_id, config.audio_bos_token_id, config.audio_eos_token_id)

    @cached_property
    def _frame_tokens(self) -> frozenset[int]:
        digits = [token for digit in "0123456789" for token in self._encode(digit)]
        return frozenset([*self._encode(FRAME), *digits])

    def is_text(self, token: int) -> bool:
        """Whether it belongs to what is said, not to the frame of a segment or a time."""
        return token not in self._frame_tokens

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """The waveform at a fixed loudness, padded to whole speech tokens."""
        inputs = self.processor.feature_extractor(
            audio.numpy(), sampling_rate=self.traits.sample_rate_hz, return_tensors="pt"
        )
        return {"input_values": inputs["input_values"], "padding_mask": inputs["padding_mask"]}

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """Both tokenizers' latents, projected. Without the noise that training adds."""
        weight = self.model.model.multi_modal_projector.acoustic_linear_1.weight
        values = features["input_values"].to(weight.device, weight.dtype)
        encoded: torch.Tensor = self.model.get_audio_features(
            values, padding_mask=features["padding_mask"].to(weight.device), sample=False
        ).pooler_output
        return encoded

    def speech_entries(self, samples: int) -> int:
        """One for each hop of the tokenizer, begun ones included."""
        return -(-samples // int(self.model.config.acoustic_tokenizer_encoder_config.hop_length))

    def prompt(self, ask: Ask) -> PromptTokens:
        """The chat template's, with the seconds of audio and the context in the user's turn."""
        placeholder = torch.zeros(1).numpy()
        text = self.processor.apply_transcription_request(
            audio=[placeholder], prompt=_harmless(ask.context) or None, tokenize=False
        )[0]
        text = text.replace(self.processor.audio_duration_token, f"{ask.audio_s:.2f}")
        return split_at_speech(self._encode(text), self.model.config.audio_token_id)

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """The list of segments, read tolerantly."""
        return read_segments(self.tokenizer.decode(tokens, skip_special_tokens=True), is_cut=is_cut)

    def _encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids


def _harmless(context: str) -> str:
    """The user's text, with no marks in it that the tokenizer takes for special tokens."""
    return context.replace("<|", "< |")
