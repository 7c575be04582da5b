"""Weights of a model class of transformers, from a local folder onto their device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch


def pretrained(
    model_type: Any, folder: Path, *, dtype: torch.dtype, device_map: str | dict[str, str]
) -> Any:
    """The model in evaluation mode; nothing is fetched.

    device_map: the name of one device, or parts of the model -> devices. Only for the latter the
    library needs accelerate.

    Raises:
        ValueError: the folder lacks weights of the model, which the library would fill with
            random numbers.
        OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
    """
    placed = {} if isinstance(device_map, str) else {"device_map": device_map}
    model, report = model_type.from_pretrained(
        folder, dtype=dtype, local_files_only=True, output_loading_info=True, **placed
    )
    missing = sorted(report["missing_keys"])
    if missing:
        raise ValueError(f"{len(missing)} weights are not in the folder, such as {missing[0]}")
    if isinstance(device_map, str):
        model = model.to(device_map)
    return model.eval()
