"""A folder as the Qwen-Omni models are published: the whole model, the thinker one part of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import torch

from murmur_cli.asr.speech_llm.qwen_omni import QwenOmni

PARTS = {
    "model.language_model": "model",
    "model.audio_tower": "audio_tower",
    "model.visual": "visual",
}


def write_omni_folder(family: QwenOmni, folder: Path, other_parts: tuple[str, ...]) -> None:
    """Write configuration, weights, tokenizer and extractor.

    other_parts: prefixes of weights that are no part of the thinker.
    """
    from safetensors.torch import save_file

    weights = dict(_published(family))
    weights |= {f"{part}.weight": torch.zeros(3) for part in other_parts}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "model_type": family.traits.model_type,
        "thinker_config": family.model.config.to_dict(),
        "enable_audio_output": True,
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    family.tokenizer.save_pretrained(folder)
    family.processor.save_pretrained(folder)


def _published(family: QwenOmni) -> Iterator[tuple[str, torch.Tensor]]:
    """Names of the published files, in which each expert has weights of its own."""
    for name, weight in family.model.state_dict().items():
        for part, published in PARTS.items():
            if name.startswith(part):
                name = name.replace(part, published, 1)
        name = f"thinker.{name}"
        if name.endswith("experts.gate_up_proj"):
            stem = name.removesuffix("gate_up_proj")
            for number, both in enumerate(weight):
                gate, up = both.chunk(2)
                yield f"{stem}{number}.gate_proj.weight", gate.contiguous()
                yield f"{stem}{number}.up_proj.weight", up.contiguous()
        elif name.endswith("experts.down_proj"):
            stem = name.removesuffix("down_proj")
            for number, down in enumerate(weight):
                yield f"{stem}{number}.down_proj.weight", down.contiguous()
        else:
            yield name, weight.clone()
