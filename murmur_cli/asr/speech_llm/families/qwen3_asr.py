"""Qwen3-ASR: text after a tag that names the language; hotwords as the system's message.

Source: transformers 5.24, `models/qwen3_asr`; the toolkit of the model's authors takes at most 20
minutes of audio at once.
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
from murmur_cli.asr.speech_llm.plain_text import plain_text
from murmur_cli.asr.speech_llm.pretrained import pretrained
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits
from murmur_cli.errors import UsageError

TEXT_MARK = "<asr_text>"
"""Stands between the tag of the language and the text; no special token."""

LANGUAGE_TAG = "language "

BLOCK_FRAMES = 100
"""Spectrum frames that the encoder's convolutions take together."""

BLOCK_ENTRIES = 13
"""Speech entries of a full block."""


class Qwen3Asr(SpeechLlm):
    """Qwen3ASRForConditionalGeneration with its processor."""

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="qwen3_asr",
        label="Qwen3-ASR",
        sample_rate_hz=16_000,
        speech_tokens_per_s=13.0,
        output_tokens_per_s=4.0,
        max_output_tokens_per_s=30.0,
        carries_speakers=False,
        carries_times=False,
        max_chunk_s=1200.0,
        takes_context=True,
        takes_language=True,
    )

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """Model and processor of transformers."""
        from transformers import AutoProcessor, Qwen3ASRForConditionalGeneration

        processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        model = pretrained(
            Qwen3ASRForConditionalGeneration, folder, dtype=dtype, device_map=device_map
        )
        return cls(model, processor.tokenizer, processor)

    @property
    def text_model(self) -> Any:
        """Qwen3's layers."""
        return self.model.model.language_model

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """The placeholder of speech, its brackets and the mark of the forced aligner."""
        vocabulary = self.text_config.vocab_size
        marks = {*self.processor.audio_token_ids, self.model.config.timestamp_token_id}
        return tuple(sorted(token for token in marks if token < vocabulary))

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Log-mel spectrum, padded to whole blocks, and which of its frames are audio."""
        inputs = self.processor.feature_extractor(
            audio.numpy(),
            sampling_rate=self.traits.sample_rate_hz,
            padding="longest",
            truncation=False,
            return_attention_mask=True,
            return_tensors="pt",
        )
        return {
            "input_features": inputs["input_features"],
            "input_features_mask": inputs["attention_mask"],
        }

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """The encoder takes any length: it attends within windows of a few seconds."""
        weight = self.model.model.multi_modal_projector.linear_1.weight
        encoded: torch.Tensor = self.model.get_audio_features(
            features["input_features"].to(weight.device, weight.dtype),
            features["input_features_mask"].to(weight.device),
        ).pooler_output
        return encoded

    def speech_entries(self, samples: int) -> int:
        """Of whole blocks, and of the frames left, of which three convolutions halve the number."""
        extractor = self.processor.feature_extractor
        frames = max(samples, int(extractor.min_length)) // int(extractor.hop_length)
        blocks, left = divmod(frames, BLOCK_FRAMES)
        return blocks * BLOCK_ENTRIES + -(-left // 8)

    def prompt(self, ask: Ask) -> PromptTokens:
        """The chat template's; a language hint begins the answer, so that only text follows.

        Raises:
            UsageError: the model does not know the language.
        """
        text = self.processor.apply_transcription_request(
            audio=[torch.zeros(1).numpy()],
            language=self._name_of(ask.language),
            prompt=ask.context or None,
            tokenize=False,
        )[0]
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return split_at_speech(ids, self.model.config.audio_token_id)

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """`language English<asr_text>…`; after a language hint, the text alone."""
        text = self.tokenizer.decode(tokens, skip_special_tokens=True).strip()
        tag, mark, spoken = text.partition(TEXT_MARK)
        if mark:
            return self._tagged(tag, spoken, is_cut)
        if self._is_tag(text, is_cut):
            return plain_text("", is_cut=is_cut, unreadable=text if is_cut else "")
        return plain_text(text, is_cut=is_cut)

    def _tagged(self, tag: str, spoken: str, is_cut: bool) -> SpokenOutput:
        """The tag is a line `language NAME`; what else stands before the mark is kept on record."""
        first, _, other = tag.strip().partition("\n")
        name = first.strip()
        if name.lower().startswith(LANGUAGE_TAG):
            name = name[len(LANGUAGE_TAG) :].strip()
        code = self._codes.get(name.lower())
        if code is None and name.lower() != "none":
            other = tag.strip()
        return plain_text(spoken, is_cut=is_cut, language=code, unreadable=other.strip())

    def _is_tag(self, text: str, is_cut: bool) -> bool:
        """Whether a text without the mark is a tag, or was cut off within one."""
        tags = [LANGUAGE_TAG + name for name in (*self._codes, "none")]
        lowered = text.lower()
        if is_cut:
            return bool(lowered) and any((tag + TEXT_MARK).startswith(lowered) for tag in tags)
        return lowered in tags

    def _name_of(self, code: str | None) -> str | None:
        if code is None or code in self._names:
            return self._names.get(code or "")
        known = " ".join(sorted(self._names))
        raise UsageError(f"--language {code}: unknown to {self.traits.label}; known: {known}")

    @cached_property
    def _names(self) -> dict[str, str]:
        from transformers.models.qwen3_asr.processing_qwen3_asr import LANGUAGE_CODE_TO_NAME

        return dict(LANGUAGE_CODE_TO_NAME)

    @cached_property
    def _codes(self) -> dict[str, str]:
        return {name.lower(): code for code, name in self._names.items()}
