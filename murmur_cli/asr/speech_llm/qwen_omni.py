"""What the thinkers of the Qwen-Omni models share: ChatML, requests in plain words, plain text.

Only the thinker is wrapped, and of it what hears and writes; the talker is never loaded. The
library's processors need torchvision for pictures, so the prompt is written here as their chat
templates write it, and the audio's features come from the feature extractor alone.

Sources: transformers 5.24, `models/qwen2_5_omni` and `models/qwen3_omni_moe`; the chat templates
of Qwen/Qwen2.5-Omni-3B and Qwen/Qwen3-Omni-30B-A3B-Instruct; 'Setting for Evaluation' of
Qwen3-Omni's README, which gives the requests. The sentence about context is ours.

With audio only the three axes of the multimodal positions are equal, and equal to the places of
the tokens (`get_rope_index` without pictures); the text model expands them from one.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from murmur_cli.asr.speech_llm.family import Ask, PromptTokens, SpeechLlm, SpokenOutput
from murmur_cli.asr.speech_llm.plain_text import plain_text
from murmur_cli.asr.speech_llm.pretrained import pretrained
from murmur_cli.errors import ModelError, UsageError

TURN_BEGIN, TURN_END = "<|im_start|>", "<|im_end|>"
ENDS = (TURN_END, "<|endoftext|>")

_HEADER = re.compile(r"\s*+assistant[ \t\r]*+\n")
_THOUGHT = re.compile(r"\s*+<think>(?P<thought>.*?)(?:</think>|\Z)", re.DOTALL)


class QwenOmni(SpeechLlm):
    """A thinker with its tokenizer; `processor` is a WhisperFeatureExtractor."""

    audio_begin: ClassVar[str]
    audio_end: ClassVar[str]
    """Special tokens around the speech, as the chat template writes them."""

    @classmethod
    @abstractmethod
    def thinker_type(cls) -> Any:
        """The library's class of the thinker."""

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """The thinker out of a folder of the whole model, or of the thinker alone.

        Its configuration is found in the whole one by its type, and the library's table of
        conversions takes the prefix 'thinker.' off its weights.

        Raises:
            ModelError: the tokenizer lacks a token of the prompt.
            OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
        """
        from transformers import AutoTokenizer, WhisperFeatureExtractor

        thinker = cls.thinker_type()
        # Read as the thinker's, so that the library does not warn about the talker's numbers.
        config = thinker.config_class.from_pretrained(folder, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, config=config, local_files_only=True)
        known = tokenizer.get_vocab()
        for mark in (TURN_BEGIN, TURN_END, cls.audio_begin, cls.audio_end):
            if mark not in known:
                raise ModelError(
                    f"model folder {folder}: its tokenizer has no {mark}; "
                    f"{cls.traits.label} needs the tokenizer it was published with"
                )
        extractor = WhisperFeatureExtractor.from_pretrained(folder, local_files_only=True)
        model = pretrained(thinker, folder, dtype=dtype, device_map=device_map)
        model.model.visual = None  # Nothing is looked at; its memory goes to the rows.
        return cls(model, tokenizer, extractor)

    @classmethod
    def read_text_config(cls, folder: Path) -> Any:
        """The thinker's, which the whole model's configuration holds."""
        config = cls.thinker_type().config_class.from_pretrained(folder, local_files_only=True)
        return config.get_text_config()

    @property
    def text_model(self) -> Any:
        """The thinker's decoder layers."""
        return self.model.model.language_model

    @property
    def end_tokens(self) -> frozenset[int]:
        """The end of the turn and of the text, whatever the whole model's configuration says."""
        known = self.tokenizer.get_vocab()
        return super().end_tokens | {known[end] for end in ENDS if end in known}

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """Placeholders of audio, pictures and video, and the brackets of audio."""
        config = self.model.config
        return (
            config.audio_token_id,
            config.image_token_id,
            config.video_token_id,
            *self._encode((self.audio_begin, self.audio_end)),
        )

    # --- audio ------------------------------------------------------------------------------

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """The encoder takes any length: it attends within windows of a few seconds."""
        weight = self.model.model.audio_tower.ln_post.weight
        encoded: torch.Tensor = self.model.get_audio_features(
            features["input_features"].to(weight.device, weight.dtype),
            feature_attention_mask=features["feature_attention_mask"].to(weight.device),
        ).last_hidden_state
        return encoded

    def _spectrum(self, audio: torch.Tensor) -> torch.Tensor:
        """Log-mel frames (1, bins, frames) of all samples, of which the last hop's is left out."""
        inputs = self.processor(
            audio.numpy(),
            sampling_rate=self.traits.sample_rate_hz,
            padding="longest",
            truncation=False,
            return_attention_mask=False,
            return_tensors="pt",
        )
        spectrum: torch.Tensor = inputs["input_features"]
        return spectrum

    # --- prompt -----------------------------------------------------------------------------

    @abstractmethod
    def prompt(self, ask: Ask) -> PromptTokens:
        """The chat template's turns.

        Raises:
            UsageError: the language code is unknown.
        """

    def _request(self, ask: Ask) -> str:
        """What the user says beside the audio."""
        name = None if ask.language is None else language_name(ask.language)
        if ask.task == "translate":
            spoken = f"{name} speech" if name else "speech"
            text = f"Listen to the provided {spoken} and produce a translation in English text."
        elif name == "Chinese":
            text = "请将这段中文语音转换为纯文本。"
        else:
            text = f"Transcribe the {name} audio into text." if name else AUTO_REQUEST
        if ask.context:
            text += f" These names and terms may occur in it: {ask.context}"
        return text

    def _encode(self, parts: Iterable[str]) -> tuple[int, ...]:
        """Ids of special tokens and of texts; a text is never taken for a special token.

        Special tokens part the text for the tokenizer too, so the ids are those of the whole.
        """
        known = self.tokenizer.get_vocab()
        marks = {TURN_BEGIN, TURN_END, self.audio_begin, self.audio_end}
        ids: list[int] = []
        for part in parts:
            if part in marks:
                ids.append(known[part])
            elif part:
                encoded = self.tokenizer(part, add_special_tokens=False, split_special_tokens=True)
                ids.extend(encoded["input_ids"])
        return tuple(ids)

    # --- output -----------------------------------------------------------------------------

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """The text, without a repeated header of the turn and without thoughts."""
        text: str = self.tokenizer.decode(tokens, skip_special_tokens=True)
        if header := _HEADER.match(text):
            text = text[header.end() :]
        thought = ""
        if found := _THOUGHT.match(text):
            thought, text = found["thought"].strip(), text[found.end() :]
        return plain_text(text, is_cut=is_cut, unreadable=thought)


AUTO_REQUEST = "Transcribe the audio into text."


def language_name(code: str) -> str:
    """English name of a language, such as 'Chinese' for 'zh'.

    Raises:
        UsageError: no code of Whisper's list, which covers what these models hear.
    """
    from transformers.models.whisper.tokenization_whisper import LANGUAGES

    if code not in LANGUAGES:
        raise UsageError(f"--language {code}: unknown; give a code such as en, de or zh")
    return str(LANGUAGES[code]).title()
