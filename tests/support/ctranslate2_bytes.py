"""Writer of CTranslate2's binary layout, from the format's description; for tests only."""

from __future__ import annotations

import struct
from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

TYPE_IDS = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4}


def text(value: str) -> bytes:
    raw = value.encode() + b"\0"
    return struct.pack("<H", len(raw)) + raw


def tensor_record(name: str, array: npt.NDArray[np.generic]) -> bytes:
    head = text(name) + struct.pack(f"<B{array.ndim}I", array.ndim, *array.shape)
    return head + struct.pack("<BI", TYPE_IDS[array.dtype.name], array.nbytes) + array.tobytes()


def model_bytes(
    tensors: Mapping[str, npt.NDArray[np.generic]],
    aliases: Mapping[str, str] | None = None,
    version: int = 6,
    specification: str = "WhisperSpec",
    revision: int = 3,
) -> bytes:
    aliases = aliases or {}
    parts = [struct.pack("<I", version), text(specification)]
    parts.append(struct.pack("<II", revision, len(tensors)))
    parts += [tensor_record(name, array) for name, array in tensors.items()]
    parts.append(struct.pack("<I", len(aliases)))
    parts += [text(alias) + text(target) for alias, target in aliases.items()]
    return b"".join(parts)
