"""What one model family does its own way: prompt, audio encoder, positions of text, output.

A family wraps a model of transformers as it is; nothing in the library is patched. Everything
else (slots, eviction, batching, guards, memory) is the engine's and the same for all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from murmur_cli.asr.speech_llm.answer_text import AnswerText, decoded_text
from murmur_cli.asr.speech_llm.layer_caches import LayerKind
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits


@dataclass(frozen=True, slots=True)
class Ask:
    """What is asked about a stretch of audio.

    Attributes:
        audio_s: its length in seconds.
        language: code, None to leave it to the model.
        task: 'transcribe' or 'translate'.
        context: names and terms that may be spoken, as the user wrote them; '' for none.
    """

    audio_s: float
    language: str | None = None
    task: str = "transcribe"
    context: str = ""


@dataclass(frozen=True, slots=True)
class PromptTokens:
    """Token ids before and after the speech."""

    before: tuple[int, ...]
    after: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SpokenSegment:
    """A stretch of an output. Times count from the start of the audio that was asked about.

    `start_s`, `end_s` and `speaker` are None where the output does not say. `is_event`: the text
    is a mark such as '[Silence]', no words.
    """

    text: str
    start_s: float | None = None
    end_s: float | None = None
    speaker: int | None = None
    is_event: bool = False


@dataclass(frozen=True, slots=True)
class SpokenOutput:
    """An output, read as far as it can be.

    Attributes:
        segments: the whole segments, in order.
        is_whole: whether nothing was cut off or unreadable.
        unreadable: text that belongs to no segment, for the record.
        language: code, if the output names it.
    """

    segments: tuple[SpokenSegment, ...]
    is_whole: bool = True
    unreadable: str = ""
    language: str | None = None


class SpeechLlm(ABC):
    """A loaded model of one family. `model` is in evaluation mode, on its device."""

    traits: ClassVar[SpeechLlmTraits]

    def __init__(self, model: Any, tokenizer: Any, processor: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.processor = processor

    @classmethod
    @abstractmethod
    def load(cls, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]) -> Self:
        """Load from a folder that transformers wrote; nothing is fetched.

        Raises:
            OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
        """

    # --- the text model ---------------------------------------------------------------------

    @property
    @abstractmethod
    def text_model(self) -> Any:
        """The stack of decoder layers, called with embeddings; returns hidden states."""

    @property
    def text_config(self) -> Any:
        """Its configuration."""
        return self.model.config.get_text_config()

    @property
    def layers(self) -> tuple[LayerKind, ...]:
        """What each layer keeps."""
        return self.layers_of(self.text_config)

    @classmethod
    def read_text_config(cls, folder: Path) -> Any:
        """The text model's configuration out of a folder, weights unread.

        Raises:
            OSError, ValueError: as transformers raises them.
        """
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(folder, local_files_only=True).get_text_config()

    @classmethod
    def layers_of(cls, config: Any) -> tuple[LayerKind, ...]:
        """What each layer of a text model of this configuration keeps."""
        head_dim = getattr(config, "head_dim", None)
        if head_dim is None:
            head_dim = config.hidden_size // config.num_attention_heads
        kind = LayerKind(int(config.num_key_value_heads), int(head_dim))
        modes = getattr(config, "layer_types", None) or ("full",) * int(config.num_hidden_layers)
        return tuple(replace(kind, slides=mode == "sliding_attention") for mode in modes)

    @property
    def layer_devices(self) -> tuple[torch.device, ...]:
        """Where each layer is computed; several where the model is larger than one device."""
        return tuple(next(iter(layer.parameters())).device for layer in self.text_model.layers)

    @property
    def max_positions(self) -> int:
        """Most positions of one row."""
        return int(self.text_config.max_position_embeddings)

    @property
    def probe_heads(self) -> tuple[tuple[int, int], ...]:
        """(layer, head) pairs that are known to follow the audio."""
        return ()

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Embeddings (tokens, width) of text tokens (tokens,)."""
        embedded: torch.Tensor = self.model.get_input_embeddings()(ids)
        return embedded

    def extra_inputs(self, ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """What the text model takes beside embeddings; ids (rows, tokens), -1 for speech."""
        return {}

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """Scores (rows, vocabulary), float32, for hidden states (rows, width)."""
        scores: torch.Tensor = self.model.lm_head(hidden)
        return scores.float()

    # --- tokens -----------------------------------------------------------------------------

    def text_tokens(self, text: str) -> tuple[int, ...]:
        """Tokens of a text as it would stand in an answer."""
        return tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens of which each ends an output."""
        ends = self.model.generation_config.eos_token_id
        if ends is None:
            ends = self.tokenizer.eos_token_id
        return frozenset([ends] if isinstance(ends, int) else ends)

    @property
    @abstractmethod
    def forbidden_tokens(self) -> tuple[int, ...]:
        """Tokens that stand for audio and may not be put out."""

    def is_text(self, token: int) -> bool:
        """Whether the loop guard counts a token; marks that recur in any output do not."""
        return True

    # --- audio, prompt, output --------------------------------------------------------------

    @abstractmethod
    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Inputs of the audio encoder, on the CPU, for (samples,) float32 at the family's rate."""

    @abstractmethod
    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """Speech embeddings (entries, width) of the text model."""

    @abstractmethod
    def speech_entries(self, samples: int) -> int:
        """Entries that so many samples at the family's rate become."""

    @abstractmethod
    def prompt(self, ask: Ask) -> PromptTokens:
        """The tokens around the speech."""

    def answer_text(self, tokens: Sequence[int]) -> AnswerText:
        """The text that `read` finds its segments in, and what each token writes of it."""

        def decode(ids: Sequence[int]) -> str:
            return str(self.tokenizer.decode(ids, skip_special_tokens=True))

        return decoded_text(tokens, decode)

    @abstractmethod
    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """What an output says; never raises, whatever the model wrote.

        is_cut: the output did not end by itself.
        """


def split_at_speech(ids: Sequence[int], audio_token: int) -> PromptTokens:
    """The ids around the run of `audio_token`, which stands for the speech.

    Raises:
        ValueError: there is no such token.
    """
    places = [place for place, token in enumerate(ids) if token == audio_token]
    if not places:
        raise ValueError(f"the prompt has no place for the speech (token {audio_token})")
    return PromptTokens(tuple(ids[: places[0]]), tuple(ids[places[-1] + 1 :]))
