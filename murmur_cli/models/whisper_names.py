"""Names of a Whisper network in CTranslate2 → names in transformers, with fused weights split.

CTranslate2 joins query, key and value of self-attention into one matrix of 3·d rows, and key
and value of cross-attention into one of 2·d rows. Whisper's key has no bias, so the middle of a
joined bias is zero and has no place in transformers. The output projection shares the weights
of the token embedding in both, so it is not stored.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from murmur_cli.errors import ModelError
from murmur_cli.models.ctranslate2_file import CTranslate2Model, Tensor

HalfTensor = npt.NDArray[np.float16]

SPECIFICATION = "WhisperSpec"
SUPPORTED_REVISION = 3
PROJECTION_ALIAS = ("decoder/projection/weight", "decoder/embeddings/weight")

_EXPECTED_SWITCHES = {
    "decoder/activation": 3,  # GELU without approximation
    "decoder/alibi": 0,
    "decoder/alibi_use_positive_positions": 0,
    "decoder/alignment_heads": 1,  # a default of the format; the heads are in config.json
    "decoder/alignment_layer": -1,  # likewise
    "decoder/pre_norm": 1,
    "decoder/scale_alibi": 0,
    "decoder/scale_embeddings": 0,
    "decoder/start_from_zero_embedding": 0,
}
"""Switches of CTranslate2's decoder with the values that make it Whisper's. Not every version
of the converter writes all of them; one that is there has this value."""

_HEADS = ("encoder/num_heads", "decoder/num_heads")


def whisper_tensors(model: CTranslate2Model, label: str) -> dict[str, HalfTensor]:
    """State of transformers' `WhisperForConditionalGeneration`, float16 as stored.

    Every tensor of the file is used exactly once. `label` names the file in errors.

    Raises:
        ModelError: not a Whisper network in float16, or a tensor is missing, left over or not
            what the network needs.
    """
    _check_kind(model, label)
    source = _Source(model, label)
    names: dict[str, HalfTensor] = {
        "model.encoder.embed_positions.weight": source.take("encoder/position_encodings/encodings"),
        "model.decoder.embed_positions.weight": source.take("decoder/position_encodings/encodings"),
        "model.decoder.embed_tokens.weight": source.take("decoder/embeddings/weight"),
    }
    for conv in ("conv1", "conv2"):
        for kind in ("weight", "bias"):
            names[f"model.encoder.{conv}.{kind}"] = source.take(f"encoder/{conv}/{kind}")
    for side in ("encoder", "decoder"):
        names |= _norm(source, f"{side}/layer_norm", f"model.{side}.layer_norm")
        for index in range(count_layers(model, side)):
            names |= _layer(source, f"{side}/layer_{index}", f"model.{side}.layers.{index}")
    source.expect_all_taken()
    return names


def count_layers(model: CTranslate2Model, side: str) -> int:
    """Number of layers of 'encoder' or 'decoder'."""
    count = 0
    while f"{side}/layer_{count}/ffn/linear_0/weight" in model.tensors:
        count += 1
    return count


def count_heads(model: CTranslate2Model, side: str) -> int:
    """Number of attention heads of 'encoder' or 'decoder'."""
    return int(model.tensors[f"{side}/num_heads"].item())


def _check_kind(model: CTranslate2Model, label: str) -> None:
    if (model.specification, model.revision) != (SPECIFICATION, SUPPORTED_REVISION):
        raise ModelError(
            f"{label}: holds {model.specification} revision {model.revision}; "
            f"supported is {SPECIFICATION} revision {SUPPORTED_REVISION}"
        )
    if PROJECTION_ALIAS not in model.aliases.items():
        raise ModelError(f"{label}: the output projection is not tied to the token embedding")
    for name, expected in _EXPECTED_SWITCHES.items():
        if name in model.tensors and model.tensors[name].item() != expected:
            raise ModelError(
                f"{label}: {name} is {model.tensors[name].item()}, Whisper has {expected}"
            )
    for name in _HEADS:
        if name not in model.tensors:
            raise ModelError(f"{label}: {name} is missing")


class _Source:
    """Hands out each tensor once and knows what is left."""

    def __init__(self, model: CTranslate2Model, label: str) -> None:
        self.label = label
        self._left: dict[str, Tensor] = {
            name: tensor
            for name, tensor in model.tensors.items()
            if name not in _EXPECTED_SWITCHES and name not in _HEADS
        }

    def take(self, name: str) -> HalfTensor:
        tensor = self._left.pop(name, None)
        if tensor is None:
            raise ModelError(f"{self.label}: tensor {name} is missing")
        if tensor.dtype != np.float16:
            raise ModelError(
                f"{self.label}: tensor {name} is {tensor.dtype}; only float16 is supported"
            )
        return tensor.astype(np.float16, copy=False)

    def expect_all_taken(self) -> None:
        if self._left:
            raise ModelError(
                f"{self.label}: {len(self._left)} tensors have no place in Whisper, "
                f"such as {min(self._left)}"
            )


def _layer(source: _Source, old: str, new: str) -> dict[str, HalfTensor]:
    names = _norm(source, f"{old}/self_attention/layer_norm", f"{new}.self_attn_layer_norm")
    names |= _fused(source, f"{old}/self_attention/linear_0", f"{new}.self_attn", "qkv")
    names |= _linear(source, f"{old}/self_attention/linear_1", f"{new}.self_attn.out_proj")
    if old.startswith("decoder/"):
        names |= _norm(source, f"{old}/attention/layer_norm", f"{new}.encoder_attn_layer_norm")
        names |= _linear(source, f"{old}/attention/linear_0", f"{new}.encoder_attn.q_proj")
        names |= _fused(source, f"{old}/attention/linear_1", f"{new}.encoder_attn", "kv")
        names |= _linear(source, f"{old}/attention/linear_2", f"{new}.encoder_attn.out_proj")
    names |= _norm(source, f"{old}/ffn/layer_norm", f"{new}.final_layer_norm")
    names |= _linear(source, f"{old}/ffn/linear_0", f"{new}.fc1")
    names |= _linear(source, f"{old}/ffn/linear_1", f"{new}.fc2")
    return names


def _norm(source: _Source, old: str, new: str) -> dict[str, HalfTensor]:
    return {
        f"{new}.weight": source.take(f"{old}/gamma"),
        f"{new}.bias": source.take(f"{old}/beta"),
    }


def _linear(source: _Source, old: str, new: str) -> dict[str, HalfTensor]:
    return {
        f"{new}.weight": source.take(f"{old}/weight"),
        f"{new}.bias": source.take(f"{old}/bias"),
    }


def _fused(source: _Source, old: str, new: str, parts: str) -> dict[str, HalfTensor]:
    """Split a joined projection; `parts` are the letters of its projections in order."""
    weight, bias = source.take(f"{old}/weight"), source.take(f"{old}/bias")
    rows = len(parts) * weight.shape[1]
    if weight.shape[0] != rows or bias.shape != (rows,):
        raise ModelError(
            f"{source.label}: {old} has {weight.shape[0]} rows and {bias.shape} biases, "
            f"expected {rows} for {parts}"
        )
    names: dict[str, HalfTensor] = {}
    for part, part_weight, part_bias in zip(
        parts, np.split(weight, len(parts)), np.split(bias, len(parts)), strict=True
    ):
        names[f"{new}.{part}_proj.weight"] = part_weight
        if part != "k":
            names[f"{new}.{part}_proj.bias"] = part_bias
        elif np.any(part_bias):
            raise ModelError(f"{source.label}: {old}/bias is not zero for the key")
    return names
