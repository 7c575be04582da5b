"""The nano model as a family of SpeechLLMs, so that Murmur's own engine decodes it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from safetensors.torch import load_file, save_file

from murmur_cli.asr.speech_llm.answer_text import AnswerText
from murmur_cli.asr.speech_llm.family import (
    Ask,
    PromptTokens,
    SpeechLlm,
    SpokenOutput,
    SpokenSegment,
)
from murmur_cli.asr.speech_llm.traits import SpeechLlmTraits
from nano.batch import PROMPT, SUFFIX
from nano.language import (
    ANSWER,
    BEGIN,
    FRAMES_PER_S,
    MAX_FRAMES,
    ONES_BASE,
    PAD,
    SPEECH,
    TENS_BASE,
    TRANSCRIBE,
    VOICE_BASE,
    WORD_BASE,
    language,
)
from nano.model import FrameReader, new_decoder
from nano.sound import SAMPLE_RATE_HZ, frames_of, heard

CHECKPOINT = Path(__file__).parent / "checkpoint"
WEIGHTS = "model.safetensors"
READER, DECODER = "reader.", "decoder."
"""Of the names in the file of weights."""

PROBE_HEADS: tuple[tuple[int, int], ...] = ()


class Nano(SpeechLlm):
    """A FrameReader before a Qwen3ForCausalLM."""

    traits: ClassVar[SpeechLlmTraits] = SpeechLlmTraits(
        model_type="murmur_nano",
        label="Nano",
        sample_rate_hz=SAMPLE_RATE_HZ,
        speech_tokens_per_s=FRAMES_PER_S,
        output_tokens_per_s=2.8,
        max_output_tokens_per_s=8.0,
        carries_speakers=True,
        carries_times=True,
        max_chunk_s=MAX_FRAMES / FRAMES_PER_S,
    )

    def __init__(self, reader: FrameReader, decoder: Any) -> None:
        super().__init__(decoder.eval(), None, None)
        self.reader = reader.eval()

    @classmethod
    def load(
        cls,
        folder: Path = CHECKPOINT,
        *,
        dtype: torch.dtype = torch.float32,
        device_map: str | dict[str, str] = "cpu",
    ) -> Self:
        """The weights that `save` wrote.

        Raises:
            OSError, SafetensorError, RuntimeError: the file is missing, damaged or another model's.
        """
        weights = load_file(folder / WEIGHTS)
        reader, decoder = FrameReader(), new_decoder()
        reader.load_state_dict(_part(weights, READER))
        decoder.load_state_dict(_part(weights, DECODER))
        assert isinstance(device_map, str), device_map
        return cls(reader.to(device_map, dtype), decoder.to(device_map, dtype))

    def save(self, folder: Path) -> None:
        """Weights in half precision, and the decoder's configuration for people to read."""
        folder.mkdir(parents=True, exist_ok=True)
        named = {
            **{READER + name: value for name, value in self.reader.state_dict().items()},
            **{DECODER + name: value for name, value in self.model.state_dict().items()},
        }
        save_file(
            {name: value.half().contiguous() for name, value in named.items()}, folder / WEIGHTS
        )
        self.model.config.to_json_file(folder / "config.json")

    @property
    def text_model(self) -> Any:
        """Qwen3's layers."""
        return self.model.model

    @property
    def attention_keys(self) -> Sequence[str]:
        """The decoder has one configuration, its own."""
        return ("",)

    @property
    def probe_heads(self) -> tuple[tuple[int, int], ...]:
        """None yet: which heads follow the audio is measured on trained weights, see README."""
        return PROBE_HEADS

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """Everything of the frame around the answer."""
        return (PAD, BEGIN, SPEECH, TRANSCRIBE, ANSWER)

    def is_text(self, token: int) -> bool:
        """Whether it is a word."""
        return token >= WORD_BASE

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Frames (frames, WIDTH)."""
        return {"frames": torch.from_numpy(heard(audio.numpy()))}

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """All frames at once; the chunk begins at 0."""
        weight = self.reader.out.weight
        frames = features["frames"].to(weight.device, weight.dtype)
        encoded: torch.Tensor = self.reader(
            frames[None], torch.zeros(1, dtype=torch.long, device=weight.device)
        )
        return encoded[0]

    def speech_entries(self, samples: int) -> int:
        """One for each frame."""
        return frames_of(samples)

    def prompt(self, ask: Ask) -> PromptTokens:
        """Always the same."""
        return PromptTokens(PROMPT, SUFFIX)

    def answer_text(self, tokens: Sequence[int]) -> AnswerText:
        """The words; marks write nothing."""
        words = language().words
        parts = [f" {words[token - WORD_BASE]}" if token >= WORD_BASE else "" for token in tokens]
        return AnswerText("".join(parts), tuple(accumulate(map(len, parts))))

    def read(self, tokens: Sequence[int], *, is_cut: bool) -> SpokenOutput:
        """Segments begin with a time and a speaker; words before the first belong to none."""
        segments: list[SpokenSegment] = []
        start_s, voice, words = 0.0, None, list[int]()
        for token in (*tokens, TENS_BASE):
            if token >= WORD_BASE:
                words.append(token - WORD_BASE)
            elif token >= VOICE_BASE:
                voice = token - VOICE_BASE
            elif token >= ONES_BASE:
                start_s += token - ONES_BASE
            elif token >= TENS_BASE:
                if words:
                    text = language().spell(words)
                    segments.append(SpokenSegment(text, start_s, None, voice))
                start_s, words = 10.0 * (token - TENS_BASE), []
        return SpokenOutput(tuple(segments), is_whole=not is_cut)


def _part(weights: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    """The weights of one part under their own names."""
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }
