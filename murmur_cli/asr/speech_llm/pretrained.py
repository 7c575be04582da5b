"""Weights of a model class of transformers, from a local folder onto their device."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import torch

from murmur_cli.models.device import BALANCED


def pretrained(
    model_type: Any, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]
) -> Any:
    """The model in evaluation mode; nothing is fetched.

    device_map: the name of one device; 'balanced', or parts of the model -> devices, for which
    the library needs accelerate.

    Raises:
        ImportError: accelerate is needed and not there.
        ValueError: the folder lacks weights of the model, which the library would fill with
            random numbers.
        OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
    """
    is_spread = not isinstance(device_map, str) or device_map == BALANCED
    if is_spread and importlib.util.find_spec("accelerate") is None:
        raise ImportError(
            "accelerate spreads a model over devices; run: pip install 'murmur-asr[devices]'"
        )
    placed = {"device_map": device_map} if is_spread else {}
    model, report = model_type.from_pretrained(
        folder, dtype=dtype, local_files_only=True, output_loading_info=True, **placed
    )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ValueError(f"{len(missing)} weights are not in the folder, such as {missing[0]}")
    if not is_spread:
        model = model.to(device_map)
    return model.eval()
