"""Gemma 4 with audio (E2B, E4B): a chat model that is told to transcribe or to translate.

Source: transformers 5.24, `models/gemma4`; instructions and the limit of 30 seconds for a clip as
the model card of google/gemma-4-E4B-it has them.
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
from murmur_cli.asr.speech_llm.layer_caches import LayerKind
from murmur_cli.asr.speech_llm.plain_text import plain_text
from murmur_cli.asr.speech_llm.pretrained import pretrained
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits
from murmur_cli.errors import ModelError, UsageError

FRAMES_PER_ENTRY = 4
"""Two convolutions of the encoder halve the number of spectrum frames."""

RULES = (
    "Follow these specific instructions for formatting the answer:\n"
    "* Only output the transcription, with no newlines.\n"
    "* When transcribing numbers, write the digits, i.e. write 1.7 and not one point seven, and "
    "write 3 instead of three."
)

TRANSLATED = "English"
"""Language that '--task translate' asks for, as for the other models."""

THOUGHT_BEGIN, THOUGHT_END = "<|channel>", "<channel|>"
"""Around what a Gemma thinks before it answers; it is not asked to, and the text is not speech."""


class Gemma4(SpeechLlm):
    """Gemma4ForConditionalGeneration with its tokenizer and audio features.

    The library's processor is not used: it needs torchvision, for pictures.
    """

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="gemma4",
        label="Gemma 4",
        sample_rate_hz=16_000,
        speech_tokens_per_s=25.0,
        output_tokens_per_s=4.0,
        max_output_tokens_per_s=40.0,
        carries_speakers=False,
        carries_times=False,
        max_chunk_s=30.0,
        tasks=("transcribe", "translate"),
        takes_context=True,
        takes_language=True,
    )

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """Model, tokenizer and feature extractor of transformers.

        Raises:
            ModelError: a Gemma 4 that does not hear, or whose prompt is not read causally.
        """
        from transformers import (
            AutoConfig,
            AutoTokenizer,
            Gemma4AudioFeatureExtractor,
            Gemma4ForConditionalGeneration,
        )

        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        if config.audio_config is None:
            raise ModelError(f"model folder {folder}: this Gemma 4 takes no audio; E2B and E4B do")
        if config.get_text_config().use_bidirectional_attention == "all":
            raise ModelError(f"model folder {folder}: this Gemma 4 is no decoder; E2B and E4B are")
        extractor = Gemma4AudioFeatureExtractor.from_pretrained(folder, local_files_only=True)
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = pretrained(
            Gemma4ForConditionalGeneration, folder, dtype=dtype, device_map=device_map
        )
        return cls(model, tokenizer, extractor)

    # --- the text model ---------------------------------------------------------------------

    @property
    def text_model(self) -> Any:
        """Gemma's layers."""
        return self.model.model.language_model

    @classmethod
    def layers_of(cls, config: Any) -> tuple[LayerKind, ...]:
        """Sliding and full layers differ in head size; the last ones read an earlier layer's
        entries: of their own type, the last that keeps some."""
        producers: dict[str, int] = {}
        kinds = []
        for layer, mode in enumerate(config.kv_sharing_modes):
            own, slides = config.per_layer_config[layer], config.layer_types[layer]
            shared = mode == "reuse"
            if not shared:
                producers[slides] = layer
            producer = producers[slides] if shared else None
            kinds.append(
                LayerKind(
                    own.num_key_value_heads,
                    own.head_dim,
                    producer,
                    slides=slides == "sliding_attention",
                )
            )
        return tuple(kinds)

    def extra_inputs(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """Each layer's own embedding of a token; speech has that of padding."""
        if not self.text_config.hidden_size_per_layer_input:
            return {}
        known = ids.masked_fill(ids < 0, self.text_config.pad_token_id)
        return {"per_layer_inputs": self.text_model.get_per_layer_inputs(known)}

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Squeezed into ±cap, where the configuration says so."""
        scores = super().logits(hidden)
        cap = self.text_config.final_logit_softcapping
        return scores if cap is None else torch.tanh(scores / cap) * cap

    # --- tokens -----------------------------------------------------------------------------

    @cached_property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """Placeholders of audio and pictures, and their brackets."""
        config = self.model.config
        marks = (
            config.audio_token_id,
            config.boa_token_id,
            config.eoa_token_index,
            config.image_token_id,
            config.boi_token_id,
            config.eoi_token_id,
            config.video_token_id,
        )
        vocabulary = self.text_config.vocab_size
        return tuple(token for token in marks if token is not None and token < vocabulary)

    # --- audio ------------------------------------------------------------------------------

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Log-mel spectrum and which of its frames are audio. Nothing is cut off; a stretch of
        less than one frame is filled up with silence."""
        audio = torch.nn.functional.pad(audio, (0, max(0, self._shortest - len(audio))))
        inputs = self.processor([audio.numpy()], truncation=False, return_tensors="pt")
        return {
            "input_features": inputs["input_features"],
            "input_features_mask": inputs["input_features_mask"],
        }

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """The encoder attends within fractions of a second and takes any length."""
        weight = self.model.model.embed_audio.embedding_projection.weight
        output = self.model.model.get_audio_features(
            features["input_features"].to(weight.device, weight.dtype),
            features["input_features_mask"].to(weight.device),
        )
        encoded: torch.Tensor = output.pooler_output[output.attention_mask]
        return encoded

    def speech_entries(self, samples: int) -> int:
        """One for each four frames, begun ones included. A frame counts if all it looks at, 160
        samples before it and the hop after, is audio."""
        frames = (max(samples, self._shortest) - 1 - self._before) // self._hop + 1
        return -(-frames // FRAMES_PER_ENTRY)

    @property
    def _hop(self) -> int:
        return int(self.processor.hop_length)

    @property
    def _before(self) -> int:
        """Samples that the first frame needs, but one: it starts half a frame before the audio."""
        length = int(self.processor.frame_length)
        return length - length // 2

    @property
    def _shortest(self) -> int:
        return self._before + 1

    # --- prompt, output ---------------------------------------------------------------------

    def prompt(self, ask: Ask) -> PromptTokens:
        """The user's turn of the chat template: the audio, then the instruction.

        Raises:
            UsageError: the language has no name here.
        """
        message = {
            "role": "user",
            "content": [{"type": "audio"}, {"type": "text", "text": self._instruction(ask)}],
        }
        text = self.tokenizer.apply_chat_template(
            [message], tokenize=False, add_generation_prompt=True
        )
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        config = self.model.config
        around = split_at_speech(ids, config.audio_token_id)
        return PromptTokens(
            (*around.before, config.boa_token_id), (config.eoa_token_index, *around.after)
        )

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """The text; of a translation, what follows the line with the transcription."""
        text = self.tokenizer.decode(self._without_thought(tokens), skip_special_tokens=True)
        _, mark, translation = text.partition(f"\n{TRANSLATED}:")
        return plain_text(translation if mark else text, is_cut=is_cut)

    def _instruction(self, ask: Ask) -> str:
        name = "its original language"
        into = ""
        if ask.language is not None:
            name = self._name_of(ask.language)
            into = f" into {name} text"
        context = f"\n* These names and terms may be spoken: {ask.context}" if ask.context else ""
        if ask.task == "transcribe":
            rules = RULES + context
            return f"Transcribe the following speech segment in {name}{into}. {rules}"
        return (
            f"Transcribe the following speech segment in {name}, then translate it into "
            f"{TRANSLATED}. When formatting the answer, first output the transcription in {name}, "
            f"then one newline, then output the string '{TRANSLATED}: ', then the translation in "
            f"{TRANSLATED}.{context}"
        )

    def _name_of(self, code: str) -> str:
        from transformers.models.whisper.tokenization_whisper import LANGUAGES

        if code in LANGUAGES:
            return str(LANGUAGES[code]).title()
        known = " ".join(sorted(LANGUAGES))
        raise UsageError(f"--language {code}: unknown to {self.traits.label}; known: {known}")

    def _without_thought(self, tokens: Sequence[int]) -> list[int]:
        begin, end = self._thought_marks
        kept: list[int] = []
        thinks = False
        for token in tokens:
            thinks = token == begin or (thinks and token != end)
            if not thinks:
                kept.append(token)
        return kept

    @cached_property
    def _thought_marks(self) -> tuple[int, int]:
        """The two tokens; -1 where the vocabulary has none."""
        vocabulary = self.tokenizer.get_vocab()
        return vocabulary.get(THOUGHT_BEGIN, -1), vocabulary.get(THOUGHT_END, -1)
