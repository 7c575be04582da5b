"""Weights of a model class of transformers, from a local folder onto their device."""

from __future__ import annotations

import importlib.util
import math
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open

from murmur_cli.models.device import BALANCED
from murmur_cli.models.local_model import weight_files

MOST_MISSING = 1.1
"""Parameters of a model for each that its files hold: less is missing by name, which the library
finds out by itself."""


def pretrained(
    model_type: Any, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]
) -> Any:
    """The model in evaluation mode; nothing is fetched.

    device_map: the name of one device; 'balanced', or parts of the model -> devices, for which
    the library needs accelerate.

    Raises:
        ImportError: accelerate is needed and not there.
        ValueError: the folder lacks weights of the model, which the library would fill with
            random numbers, or has some of another shape than its configuration says, or whole
            numbers; its configuration describes a larger model than its files hold.
        OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
    """
    is_spread = not isinstance(device_map, str) or device_map == BALANCED
    if is_spread and importlib.util.find_spec("accelerate") is None:
        raise ImportError(
            "accelerate spreads a model over devices; run: pip install 'murmur-asr[devices]'"
        )
    _check_size(model_type, folder)
    placed = {"device_map": device_map} if is_spread else {}
    model, report = model_type.from_pretrained(
        folder,
        dtype=dtype,
        local_files_only=True,
        output_loading_info=True,
        ignore_mismatched_sizes=True,  # The error is ours: the library's says no name.
        **placed,
    )
    mismatched = sorted(report["mismatched_keys"])
    if mismatched:
        name, in_file, described = mismatched[0]
        raise ValueError(
            f"{len(mismatched)} weights are of another shape than config.json says, such as "
            f"{name}: {tuple(in_file)} in the file, {tuple(described)} described"
        )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ValueError(f"{len(missing)} weights are not in the folder, such as {missing[0]}")
    if not is_spread:
        model = model.to(device_map)
    return model.eval()


def _check_size(model_type: Any, folder: Path) -> None:
    """Before memory is taken: sizes that a configuration leaves out are the library's own, such as
    a model of billions of parameters for a file of some."""
    config = model_type.config_class.from_pretrained(folder, local_files_only=True)
    with torch.device("meta"):
        described = sum(weight.numel() for weight in model_type(config).parameters())
    held = whole_numbers = 0
    for path in weight_files(folder):
        with safe_open(path, framework="pt") as file:
            for name in file.keys():  # noqa: SIM118
                weight = file.get_slice(name)
                size = math.prod(weight.get_shape())
                held += size
                whole_numbers += size if weight.get_dtype().startswith(("I", "U", "BOOL")) else 0
    if 2 * whole_numbers > held:
        raise ValueError("its weights are whole numbers, which is no format of such a model")
    if described > MOST_MISSING * held:
        raise ValueError(
            f"config.json describes a model of {described:,} parameters, its files hold {held:,}"
        )
