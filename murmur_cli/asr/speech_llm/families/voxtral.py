"""Voxtral: plain text, in pieces of thirty seconds of audio, the last one padded with silence.

The published folder names its tokens in Mistral's own file, tekken.json, which the library
converts by itself; the package mistral-common is not needed.

Source: transformers 5.24, `models/voxtral`, whose processor leaves the prompt of a transcription
to mistral-common (1.13, `InstructTokenizerV7._encode_instruct_transcription`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from murmur_cli.asr.speech_llm.family import Ask, PromptTokens, SpeechLlm, SpokenOutput
from murmur_cli.asr.speech_llm.plain_text import plain_text
from murmur_cli.asr.speech_llm.pretrained import pretrained
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits
from murmur_cli.errors import ModelError, UsageError

TURN_BEGIN, TURN_END = "[INST]", "[/INST]"
AUDIO_BEGIN, AUDIO = "[BEGIN_AUDIO]", "[AUDIO]"
TRANSCRIBE = "[TRANSCRIBE]"
MARKS = (TURN_BEGIN, TURN_END, AUDIO_BEGIN, AUDIO, TRANSCRIBE)

TRANSLATE_REQUEST = "Translate the speech into English. Answer with the translation only."
"""Ours: the mode of transcription has no translation, an instruction in plain words does it."""

PIECES_AT_ONCE = 8
"""Pieces that the encoder takes together; bounds its memory."""

_TAG = re.compile("lang:([a-z]{2})")


class Voxtral(SpeechLlm):
    """VoxtralForConditionalGeneration; `processor` is a WhisperFeatureExtractor.

    `max_chunk_s`: what the model card names for transcription. The mode of transcription has no
    place for context.
    """

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="voxtral",
        label="Voxtral",
        sample_rate_hz=16_000,
        speech_tokens_per_s=12.5,
        output_tokens_per_s=4.0,
        max_output_tokens_per_s=30.0,
        carries_speakers=False,
        carries_times=False,
        max_chunk_s=1800.0,
        tasks=("transcribe", "translate"),
        takes_language=True,
    )

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """Model, feature extractor and tokenizer of transformers.

        Raises:
            ModelError: the folder's tokenizer is missing or has no token for a transcription.
            OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
        """
        from transformers import VoxtralForConditionalGeneration, WhisperFeatureExtractor

        tokenizer = load_tokenizer(folder)
        extractor = WhisperFeatureExtractor.from_pretrained(folder, local_files_only=True)
        model = pretrained(
            VoxtralForConditionalGeneration, folder, dtype=dtype, device_map=device_map
        )
        return cls(model, tokenizer, extractor)

    @property
    def text_model(self) -> Any:
        """Llama's layers."""
        return self.model.model.language_model

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """The placeholder of speech and its mark."""
        return (self.model.config.audio_token_id, *self._ids(AUDIO_BEGIN))

    # --- audio ------------------------------------------------------------------------------

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Log-mel frames (pieces, bins, frames of a piece), with one ceiling for all pieces."""
        samples = self._pieces(audio.shape[0]) * self._piece_samples
        inputs = self.processor(
            torch.nn.functional.pad(audio, (0, samples - audio.shape[0])).numpy(),
            sampling_rate=self.traits.sample_rate_hz,
            padding="longest",
            truncation=False,
            return_tensors="pt",
        )
        spectrum = inputs["input_features"][0]
        pieces = spectrum.reshape(spectrum.shape[0], -1, self._piece_frames).transpose(0, 1)
        return {"input_features": pieces.contiguous()}

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """Each piece alone, a few together."""
        weight = self.model.model.audio_tower.conv1.weight
        encoded = [
            self.model.get_audio_features(pieces.to(weight.device, weight.dtype)).pooler_output
            for pieces in torch.split(features["input_features"], PIECES_AT_ONCE)
        ]
        return torch.cat(encoded)

    def speech_entries(self, samples: int) -> int:
        """Of whole pieces: the projector joins neighbours to the width of its input."""
        config = self.model.config.audio_config
        joined = config.intermediate_size // config.hidden_size
        return self._pieces(samples) * int(config.max_source_positions // joined)

    @property
    def _piece_frames(self) -> int:
        """Of the spectrum; a convolution of the encoder halves them."""
        return 2 * int(self.model.config.audio_config.max_source_positions)

    @property
    def _piece_samples(self) -> int:
        return self._piece_frames * int(self.processor.hop_length)

    def _pieces(self, samples: int) -> int:
        return max(1, -(-samples // self._piece_samples))

    # --- prompt -----------------------------------------------------------------------------

    def prompt(self, ask: Ask) -> PromptTokens:
        """A user's turn with the audio; then, outside it, the language and the mode's token.

        Raises:
            UsageError: the language is no code of two letters.
        """
        before = (self.tokenizer.bos_token_id, *self._ids(TURN_BEGIN, AUDIO_BEGIN))
        if ask.task == "translate":
            request = self._text(TRANSLATE_REQUEST)
            return PromptTokens(before, (*request, *self._ids(TURN_END)))
        language: tuple[int, ...] = ()
        if ask.language is not None:
            if not _TAG.fullmatch(tag := f"lang:{ask.language}"):
                raise UsageError(
                    f"--language {ask.language}: {self.traits.label} takes a code of two letters, "
                    "such as en"
                )
            language = self._text(tag)
        return PromptTokens(before, (*self._ids(TURN_END), *language, *self._ids(TRANSCRIBE)))

    def _ids(self, *marks: str) -> tuple[int, ...]:
        known = self.tokenizer.get_vocab()
        return tuple(known[mark] for mark in marks)

    def _text(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    # --- output -----------------------------------------------------------------------------

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """The text without the tag `lang:en`, which a model may put before it."""
        text: str = self.tokenizer.decode(tokens, skip_special_tokens=True)
        text = text.lstrip()
        tag = _TAG.match(text)
        if tag is None:
            return plain_text(text, is_cut=is_cut)
        return plain_text(text[tag.end() :], is_cut=is_cut, language=tag[1])


def load_tokenizer(folder: Path) -> Any:
    """From tekken.json, as published.

    Raises:
        ModelError: it is not there, or lacks a token of the prompt.
        OSError, ValueError: as transformers raises them.
    """
    from transformers.integrations.mistral import convert_tekken_tokenizer

    file = folder / "tekken.json"
    if not file.is_file():
        raise ModelError(
            f"model folder {folder}: has no tekken.json; fetch the whole model again with "
            "'murmur models pull'"
        )
    # An empty template keeps the library from making one, which needs mistral-common.
    tokenizer = convert_tekken_tokenizer(str(file), chat_template="")
    known = tokenizer.get_vocab()
    missing = [mark for mark in MARKS if mark not in known]
    if missing:
        raise ModelError(
            f"model folder {folder}: its tokenizer has no {missing[0]}; "
            "Voxtral needs the tokenizer it was published with"
        )
    return tokenizer
