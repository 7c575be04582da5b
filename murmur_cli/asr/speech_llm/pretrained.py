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
        OSError, ValueError, RuntimeError, SafetensorError: as transformers raises them.
    """
    if isinstance(device_map, str):
        model = model_type.from_pretrained(folder, dtype=dtype, local_files_only=True)
        return model.to(device_map).eval()
    return model_type.from_pretrained(
        folder, dtype=dtype, device_map=device_map, local_files_only=True
    ).eval()
