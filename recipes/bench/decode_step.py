"""Time of one decode step of the flagship against the floor that memory bandwidth sets.

    python recipes/bench/decode_step.py -o bench/decode_step.json
    python recipes/bench/decode_step.py --tiny

Builds VibeVoice-ASR's text model at full size with random weights (7B: 28 layers, 28 query and
4 KV heads of 128) and decodes a batch of chunks of 300 s: 2,250 speech entries each, 2,700
forced output tokens. Speech embeddings are random too: the audio encoders are not part of a step.
A step reads the text model's weights once and the selected keys and values of each row; the
floor is those bytes over the bandwidth of a copy that is measured in the same run. Beside it:
the library's own `generate` (sdpa, its DynamicCache) on the same weights and lengths.

`--tiny` runs the same on a CPU with a model of some kilobytes: it proves the script, not a speed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder, SpeechSource
from murmur_cli.asr.speech_llm.families.vibevoice import VibeVoice
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.memory_plan import RequestLimits
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Request
from murmur_cli.types import KvUsage, SampleSpan

PUBLISHED = {
    "whole meeting of 44 minutes, single pass": 370.7,
    "9 chunks of 300 s, no eviction": 100.8,
    "9 chunks of 300 s, speech eviction": 88.43,
    "9 chunks of 300 s, both evictions": 96.1,
}
"""Seconds, MURMUR (arXiv), its own system on its own GPU."""

CHUNKS_OF_MEETING = 9


class RandomSpeech(VibeVoice):
    """VibeVoice whose speech is random embeddings and whose output never ends."""

    speech_tokens = 2250

    @property
    def forbidden_tokens(self) -> tuple[int, ...]:
        """Its own, and the end."""
        return (*super().forbidden_tokens, *self.end_tokens)

    @property
    def end_tokens(self) -> frozenset[int]:
        """The text model's."""
        return frozenset({int(self.text_config.eos_token_id or 0)})

    def is_text(self, token: int) -> bool:
        """No: random text repeats itself, and no row may end before the others."""
        return False

    def features(self, audio: torch.Tensor) -> dict[str, torch.Tensor]:
        """Nothing."""
        return {}

    def encode(self, features: dict[str, torch.Tensor]) -> torch.Tensor:
        """Random numbers of the size of embeddings."""
        weight = self.model.get_input_embeddings().weight
        return torch.randn(
            self.speech_tokens, weight.shape[1], device=weight.device, dtype=weight.dtype
        ).mul_(float(weight.float().std()))

    def speech_entries(self, samples: int) -> int:
        """As many as are asked for."""
        return self.speech_tokens


def build(tiny: bool, device: torch.device) -> RandomSpeech:
    """The model with random weights, bfloat16 on CUDA."""
    from transformers import (
        Qwen2Config,
        VibeVoiceAcousticTokenizerEncoderConfig,
        VibeVoiceAsrConfig,
        VibeVoiceAsrForConditionalGeneration,
    )

    sizes: dict[str, Any] = {
        "vocab_size": 152_064,
        "hidden_size": 3584,
        "intermediate_size": 18_944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "max_position_embeddings": 131_072,
        "rope_theta": 1_000_000.0,
        "eos_token_id": 151_643,
    }
    if tiny:
        sizes |= {
            "vocab_size": 512, "hidden_size": 64, "intermediate_size": 128,
            "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "eos_token_id": 2,
        }  # fmt: skip
    encoder = VibeVoiceAcousticTokenizerEncoderConfig(
        num_filters=4, downsampling_ratios=[2, 2], depths=[1, 1, 1], hidden_size=8
    ).to_dict()
    last = sizes["vocab_size"] - 1
    config = VibeVoiceAsrConfig(
        acoustic_tokenizer_encoder_config=encoder,
        semantic_tokenizer_encoder_config=encoder,
        text_config=Qwen2Config(**sizes).to_dict(),
        audio_token_id=last,
        audio_bos_token_id=last - 1,
        audio_eos_token_id=last - 2,
        acoustic_tokenizer_chunk_size=64,
    )
    torch.manual_seed(0)
    dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            model = VibeVoiceAsrForConditionalGeneration(config)
    finally:
        torch.set_default_dtype(default)
    return RandomSpeech(model.eval(), tokenizer=None, processor=None)


def copy_bandwidth(device: torch.device, size_bytes: int) -> float:
    """Bytes per second of a large copy, read and written bytes counted."""
    source = torch.empty(size_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    times = []
    for _ in range(10):
        wait(device)
        start_s = time.perf_counter()
        target.copy_(source)
        wait(device)
        times.append(time.perf_counter() - start_s)
    return 2 * size_bytes / statistics.median(times)


def wait(device: torch.device) -> None:
    """Until the device has done what it was asked to do."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def decode(
    family: RandomSpeech, device: torch.device, evict: str, batch: int, tokens: int
) -> dict[str, Any]:
    """Decode a batch; seconds of prefill and per step, bytes read, and the floor's bytes."""
    decoder = SpeechLlmDecoder(family, 300.0)
    policy = build_policy(evict, {}, family.traits.rates(300.0))
    limits = RequestLimits(32, tokens + 1)
    engine = DecodeEngine(decoder, policy, FamilyRule(family), batch, limits=limits)
    nothing = np.zeros(16, np.float32)
    engine.submit(
        Request(
            key=str(number),
            source=SpeechSource(nothing, (SampleSpan(0, 16),)),
            prompt=tuple(range(3, 13)),
            suffix=tuple(range(13, 23)),
            audio_s=300.0,
            max_new_tokens=tokens,
        )
        for number in range(batch)
    )
    engine.expect_no_more()
    usage, marks = KvUsage(), []
    wait(device)
    start_s = time.perf_counter()
    while engine.busy:
        done = engine.step()
        wait(device)
        marks.append(time.perf_counter())
        usage = sum((finished.kv for finished in done), usage)
    engine.close()
    first_s = marks[0] - start_s
    steps = usage.steps / batch
    per_step_s = (marks[-1] - marks[0]) / max(1.0, steps - steps / len(marks))
    return {
        "evict": evict,
        "batch": batch,
        "slots": engine.slots,
        "first_call_s": first_s,
        "steps": steps,
        "step_ms": 1e3 * per_step_s,
        "kv_bytes_per_step": usage.bytes_read / max(1.0, steps),
        "wall_s": marks[-1] - start_s,
    }


def library_step_ms(family: RandomSpeech, device: torch.device, batch: int, tokens: int) -> float:
    """Milliseconds a token of the library's own greedy loop over the same prompts."""
    family.text_model.set_attn_implementation("sdpa")
    entries = family.speech_tokens + 20
    # Text tokens in the place of speech: a step costs the same.
    ids = torch.randint(3, int(family.text_config.vocab_size) - 8, (batch, entries), device=device)
    times = []
    for count in (1, 1 + tokens):
        wait(device)
        start_s = time.perf_counter()
        family.model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            do_sample=False,
            min_new_tokens=count,
            max_new_tokens=count,
        )
        wait(device)
        times.append(time.perf_counter() - start_s)
    return 1e3 * (times[1] - times[0]) / tokens


def text_model_bytes(family: RandomSpeech) -> int:
    """Bytes of weights that a step reads: layers, last norm and head; one row of embeddings."""
    parts = (family.text_model.layers, family.text_model.norm, family.model.lm_head)
    return sum(
        parameter.numel() * parameter.element_size()
        for part in parts
        for parameter in part.parameters()
    )


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """All figures of one run."""
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if device.type != "cuda" and not arguments.tiny:
        raise SystemExit("decode_step: no CUDA device here; --tiny proves the script on a CPU")
    tokens, batch = arguments.tokens, arguments.batch_size
    if arguments.tiny:
        tokens, batch = min(tokens, 24), min(batch, 4)
        RandomSpeech.speech_tokens = 40
    family = build(arguments.tiny, device)
    bandwidth = copy_bandwidth(device, (1 << 20) if arguments.tiny else (4 << 30))
    weights = text_model_bytes(family)
    rows = []
    for evict in arguments.evict.split(","):
        row = decode(family, device, evict.strip(), batch, tokens)
        row["floor_ms"] = 1e3 * (weights + row["kv_bytes_per_step"]) / bandwidth
        row["over_floor"] = row["step_ms"] / row["floor_ms"]
        rows.append(row)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU, tiny model"
    return {
        "device": name,
        "is_tiny": arguments.tiny,
        "speech_entries": RandomSpeech.speech_tokens,
        "output_tokens": tokens,
        "weight_bytes": weights,
        "copy_bytes_per_s": bandwidth,
        "rows": rows,
        "library_step_ms": library_step_ms(family, device, batch, min(tokens, 64)),
        "published_s": PUBLISHED,
        "note": f"a meeting of 44 minutes is {CHUNKS_OF_MEETING} chunks: one batch",
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print; with -o, write JSON too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a model of kilobytes, on a CPU too")
    parser.add_argument("--evict", default="none,output,speech,both", help="policies, by commas")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=2700, help="output tokens of each row")
    parser.add_argument("-o", "--output", type=Path, help="JSON file")
    arguments = parser.parse_args(argv)
    result = measure(arguments)
    for row in result["rows"]:
        print(
            f"{row['evict']:>8}  step {row['step_ms']:8.3f} ms  floor {row['floor_ms']:8.3f} ms  "
            f"{row['over_floor']:6.2f} x  whole {row['wall_s']:7.1f} s"
        )
    print(f"{'generate':>8}  step {result['library_step_ms']:8.3f} ms")
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
