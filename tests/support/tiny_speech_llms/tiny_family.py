"""What a test needs of a tiny model: the family, and how the library itself would run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from murmur_cli.asr.speech_llm.arena_attention import ARENA_ATTENTION
from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder, SpeechSource
from murmur_cli.asr.speech_llm.family import SpeechLlm
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Finished, Request
from murmur_cli.types import Samples, SampleSpan
from support.tiny_speech_llms.tiny_tokenizer import (
    AUDIO,
    AUDIO_BEGIN,
    AUDIO_END,
    BOS,
    END,
    PAD,
    VOCABULARY,
)

TEXT_CONFIG: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 4096,
    "pad_token_id": PAD,
    "bos_token_id": BOS,
    "eos_token_id": END,
}
MAX_NEW_TOKENS = 24


@dataclass(frozen=True)
class TinyFamily:
    """A family over a tiny model.

    Attributes:
        family: the wrapped model.
        audio_inputs: features -> the audio arguments of the library's own forward call.
        pieces: spans of the audio for some requests, of different lengths in speech entries.
        max_audio_s: longest of them.
    """

    family: SpeechLlm
    audio_inputs: Callable[[dict[str, torch.Tensor]], dict[str, Any]]
    pieces: tuple[tuple[int, int], ...]

    @property
    def max_audio_s(self) -> float:
        return max(end - start for start, end in self.pieces) / 16_000

    def decoder(self) -> SpeechLlmDecoder:
        return SpeechLlmDecoder(self.family, self.max_audio_s)

    def requests(self) -> list[Request]:
        """Prompts and suffixes of different lengths, as rows of a real batch have them."""
        audio = noise(max(end for _, end in self.pieces))
        return [
            Request(
                key=str(number),
                source=SpeechSource(audio, (SampleSpan(start, end),)),
                prompt=(*(5, 6, 7)[: 1 + number % 3], AUDIO_BEGIN),
                audio_s=(end - start) / 16_000,
                max_new_tokens=MAX_NEW_TOKENS,
                suffix=(AUDIO_END, *(8, 9, 10)[: 1 + number % 3]),
            )
            for number, (start, end) in enumerate(self.pieces)
        ]

    @contextmanager
    def library_attention(self) -> Iterator[None]:
        """The library's own attention, for its own `generate`."""
        text_model = self.family.text_model
        text_model.set_attn_implementation("sdpa")
        try:
            yield
        finally:
            text_model.set_attn_implementation(ARENA_ATTENTION)

    def generate(self, requests: Sequence[Request]) -> list[list[int]]:
        """Greedy outputs of the library's own `generate`, padded on the left to one batch.

        The requests hear the same audio.
        """
        features = self.decoder().prepare(requests[0].source).features
        entries = self.family.encode(features).shape[0]
        rows = [[*one.prompt, *(AUDIO,) * entries, *one.suffix] for one in requests]
        longest = max(map(len, rows))
        ids = torch.full((len(rows), longest), PAD)
        mask = torch.zeros((len(rows), longest), dtype=torch.long)
        for number, row in enumerate(rows):
            ids[number, longest - len(row) :] = torch.tensor(row)
            mask[number, longest - len(row) :] = 1
        inputs = {
            name: torch.cat([value] * len(rows)) if isinstance(value, torch.Tensor) else value
            for name, value in self.audio_inputs(features).items()
        }
        with self.library_attention():
            output = self.family.model.generate(
                input_ids=ids,
                attention_mask=mask,
                do_sample=False,
                max_new_tokens=MAX_NEW_TOKENS,
                suppress_tokens=list(self.family.forbidden_tokens),
                **inputs,
            )
        return [until_end(row[longest:].tolist()) for row in output]


def engine_output(
    tiny: TinyFamily,
    requests: Sequence[Request],
    *,
    slots: int,
    evict: str = "none",
    options: dict[str, str] | None = None,
) -> dict[str, Finished]:
    """What the engine makes of the requests, by key."""
    family = tiny.family
    policy = build_policy(evict, options or {}, family.traits.rates(300.0))
    engine = DecodeEngine(tiny.decoder(), policy, FamilyRule(family), slots)
    engine.submit(requests)
    done: dict[str, Finished] = {}
    while engine.busy:
        done |= {finished.request.key: finished for finished in engine.step()}
    engine.close()
    return done


def until_end(tokens: Sequence[int]) -> list[int]:
    """The tokens before the first end token or padding."""
    kept = []
    for token in tokens:
        if token in (END, PAD):
            break
        kept.append(token)
    return kept


def noise(samples: int) -> Samples:
    """Quiet noise, always the same."""
    return (np.random.default_rng(7).standard_normal(samples) * 0.1).astype(np.float32)


def strengthened(model: Any) -> Any:
    """Weights large enough that greedy outputs differ from row to row; in evaluation mode."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() >= 2:
                parameter.mul_(4)
    return model.eval()
