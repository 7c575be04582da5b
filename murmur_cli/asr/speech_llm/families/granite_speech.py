"""Granite Speech: a Granite that is told to transcribe or to translate, with an adapter in some.

Source: transformers 5.24, `models/granite_speech`; instructions and the length of windows as in the
model cards of ibm-granite/granite-speech-3.3-2b and granite-4.0-1b-speech and in the library
`granite-speech` of the model's authors.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
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
from murmur_cli.errors import ModelError, UsageError

LANGUAGES = {
    "de": "German",
    "en": "English",
    "es": "Spanish",
    "fr": "French",
    "ja": "Japanese",
    "pt": "Portuguese",
}

TODAY = "strftime_now"
"""In a chat template that would write the date of the day into the prompt."""

SYSTEM = (
    "Knowledge Cutoff Date: April 2024.\nToday's Date: December 19, 2024.\n"
    "You are Granite, developed by IBM. You are a helpful AI assistant"
)
"""The model card's message for such a template: with it, a run does not depend on the day."""

ADAPTER_FILE = "adapter_config.json"


class GraniteSpeech(SpeechLlm):
    """GraniteSpeechForConditionalGeneration with its processor."""

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="granite_speech",
        label="Granite Speech",
        sample_rate_hz=16_000,
        speech_tokens_per_s=10.0,
        output_tokens_per_s=4.0,
        max_output_tokens_per_s=30.0,
        carries_speakers=False,
        carries_times=False,
        max_chunk_s=30.0,
        tasks=("transcribe", "translate"),
        takes_context=True,
        takes_language=True,
    )

    @classmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """Model and processor of transformers, the adapter for speech on.

        Raises:
            ModelError: a package or the adapter is missing, or the text model is no Granite.
        """
        from transformers import (
            AutoConfig,
            AutoProcessor,
            GraniteSpeechForConditionalGeneration,
        )

        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        _check(folder, config)
        processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
        model = pretrained(
            GraniteSpeechForConditionalGeneration, folder, dtype=dtype, device_map=device_map
        )
        if config.has_lora_adapter:
            # As the library's own generate does when it is given audio.
            model.enable_adapters()
        return cls(model, processor.tokenizer, processor)

    @property
    def text_model(self) -> Any:
        """Granite's layers."""
        return self.model.model.language_model

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Divided as GraniteForCausalLM does, which the text model was trained as.

        The speech model's own forward call leaves it out, which moves no best token, but
        probabilities.
        """
        return super().logits(hidden) / float(self.text_config.logits_scaling)

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """The placeholder of speech, where it lies in the vocabulary."""
        token = int(self.model.config.audio_token_id)
        return (token,) if token < self.text_config.vocab_size else ()

    # --- audio ------------------------------------------------------------------------------

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Pairs of log-mel frames. Too little for the spectrum is filled up with silence."""
        audio = torch.nn.functional.pad(audio, (0, max(0, self._shortest - len(audio))))
        inputs = self.processor.audio_processor(audio[None])
        return {"input_features": inputs["input_features"]}

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """The encoder attends within blocks of four seconds and takes any length."""
        weight = self.model.model.projector.linear.weight
        encoded: torch.Tensor = self.model.get_audio_features(
            features["input_features"].to(weight.device, weight.dtype)
        ).pooler_output[0]
        return encoded

    def speech_entries(self, samples: int) -> int:
        """A few for each window of encoder frames, begun ones included."""
        config = self.model.config
        hop = int(self.processor.audio_processor.melspec_kwargs["hop_length"])
        frames = (max(samples, self._shortest) // hop + 1) // 2
        windows = -(-frames // int(config.window_size))
        return windows * (int(config.window_size) // int(config.downsample_rate))

    @property
    def _shortest(self) -> int:
        """Samples that the spectrum needs, which mirrors half a transform at each end."""
        return int(self.processor.audio_processor.melspec_kwargs["n_fft"]) // 2 + 1

    # --- prompt, output ---------------------------------------------------------------------

    def prompt(self, ask: Ask) -> PromptTokens:
        """The user's turn of the chat template: the audio, then the instruction.

        Raises:
            UsageError: the model does not know the language.
        """
        content = self.processor.audio_token + _instruction(ask)
        messages = [{"role": "user", "content": content}]
        if TODAY in str(self.tokenizer.chat_template or ""):
            messages.insert(0, {"role": "system", "content": SYSTEM})
        text = self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True
        )
        ids: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return split_at_speech(ids, self.model.config.audio_token_id)

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """The text as it is."""
        return plain_text(self.tokenizer.decode(tokens, skip_special_tokens=True), is_cut=is_cut)


def _instruction(ask: Ask) -> str:
    spoken = ""
    if ask.language is not None:
        if ask.language not in LANGUAGES:
            known = " ".join(sorted(LANGUAGES))
            raise UsageError(
                f"--language {ask.language}: unknown to {GraniteSpeech.traits.label}; "
                f"known: {known}"
            )
        spoken = f"{LANGUAGES[ask.language]} "
    keywords = f" Keywords: {ask.context}" if ask.context else ""
    if ask.task == "translate":
        return f"translate the speech to {LANGUAGES['en']}.{keywords}"
    return f"can you transcribe the {spoken}speech into a written format?{keywords}"


def _check(folder: Path, config: Any) -> None:
    label = GraniteSpeech.traits.label
    text_type = config.text_config.model_type
    if text_type != "granite":
        raise ModelError(
            f"model folder {folder}: its text model is of type {text_type!r}; {label} models "
            "with a text model of type 'granite' are supported"
        )
    needed = {"torchaudio": ("its spectrum", "torchaudio")}
    if config.has_lora_adapter:
        from transformers.integrations.peft import MIN_PEFT_VERSION

        needed["peft"] = ("its adapter for speech", f"'peft>={MIN_PEFT_VERSION}'")
    for package, (purpose, requirement) in needed.items():
        if find_spec(package) is None:
            raise ModelError(
                f"{label} needs the package {package} for {purpose}; "
                f"install it: pip install {requirement}"
            )
    if config.has_lora_adapter and not (folder / ADAPTER_FILE).is_file():
        raise ModelError(
            f"model folder {folder}: {ADAPTER_FILE} is missing, without which {label} does not "
            "understand speech; fetch the model again"
        )
