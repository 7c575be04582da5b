"""Reader of CTranslate2's `model.bin`: names, shapes, types and bytes of the tensors.

Layout, little endian (CTranslate2, `python/ctranslate2/specs/model_spec.py`, versions 4 to 6):

    uint32 version · text specification · uint32 revision · uint32 number of tensors
    per tensor: text name · uint8 rank · uint32 × rank dimensions · uint8 type · uint32 bytes · data
    uint32 number of aliases · per alias: text alias · text name of a tensor
    text: uint16 length with the closing zero, then the bytes
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.errors import ModelError

SUPPORTED_VERSIONS = (4, 5, 6)
MAX_RANK = 8

Tensor = npt.NDArray[np.generic]

_DTYPES: dict[int, np.dtype[np.generic]] = {
    0: np.dtype("<f4"),
    1: np.dtype("i1"),
    2: np.dtype("<i2"),
    3: np.dtype("<i4"),
    4: np.dtype("<f2"),
}
"""Type byte → numpy type. 5 is bfloat16, which numpy lacks; no packaged model uses it."""


@dataclass(frozen=True, slots=True)
class CTranslate2Model:
    """Content of one `model.bin`.

    Attributes:
        version: of the binary layout.
        specification: class that wrote the file, such as 'WhisperSpec'.
        revision: of the specification.
        tensors: name → array, a read-only view into the file's bytes.
        aliases: further name → name of a tensor.
    """

    version: int
    specification: str
    revision: int
    tensors: dict[str, Tensor]
    aliases: dict[str, str]


def parse_ctranslate2(data: bytes, label: str) -> CTranslate2Model:
    """Read the bytes of a whole `model.bin`; `label` names it in errors.

    Raises:
        ModelError: a version that is not supported, or damage: data that ends early or goes on
            after the end, sizes that contradict each other, names twice, aliases into nothing.
    """
    reader = _Reader(data, label)
    version = reader.uint32()
    if version not in SUPPORTED_VERSIONS:
        raise ModelError(
            f"{label}: layout version {version} of CTranslate2 is not supported; "
            f"supported: {', '.join(map(str, SUPPORTED_VERSIONS))}"
        )
    specification = reader.text()
    revision = reader.uint32()
    tensors: dict[str, Tensor] = {}
    for _ in range(reader.uint32()):
        name = reader.text()
        if name in tensors:
            raise ModelError(f"{label}: damaged: tensor {name} is there twice")
        tensors[name] = reader.tensor(name)
    aliases: dict[str, str] = {}
    for _ in range(reader.uint32()):
        alias, target = reader.text(), reader.text()
        if target not in tensors or alias in tensors:
            raise ModelError(f"{label}: damaged: alias {alias} of {target} makes no sense")
        aliases[alias] = target
    reader.expect_end()
    return CTranslate2Model(version, specification, revision, tensors, aliases)


class _Reader:
    """Takes fields off the bytes in order; every step is checked against the end."""

    def __init__(self, data: bytes, label: str) -> None:
        self._data = memoryview(data).toreadonly()
        self._label = label
        self._offset = 0

    def _take(self, count: int, what: str) -> memoryview:
        end = self._offset + count
        if end > len(self._data):
            raise ModelError(
                f"{self._label}: damaged: {what} at byte {self._offset} needs {count} bytes, "
                f"{len(self._data) - self._offset} are left"
            )
        taken = self._data[self._offset : end]
        self._offset = end
        return taken

    def uint32(self) -> int:
        return int(struct.unpack("<I", self._take(4, "a number"))[0])

    def text(self) -> str:
        length = struct.unpack("<H", self._take(2, "the length of a name"))[0]
        raw = bytes(self._take(length, "a name"))
        if not raw.endswith(b"\0"):
            raise ModelError(f"{self._label}: damaged: name before byte {self._offset} has no end")
        try:
            return raw[:-1].decode("utf-8")
        except UnicodeDecodeError:
            raise ModelError(
                f"{self._label}: damaged: name before byte {self._offset} is not text"
            ) from None

    def tensor(self, name: str) -> Tensor:
        rank = self._take(1, f"rank of {name}")[0]
        if rank > MAX_RANK:
            raise ModelError(f"{self._label}: damaged: {name} has rank {rank}")
        shape = struct.unpack(f"<{rank}I", self._take(4 * rank, f"shape of {name}"))
        type_id = self._take(1, f"type of {name}")[0]
        dtype = _DTYPES.get(type_id)
        if dtype is None:
            raise ModelError(f"{self._label}: type {type_id} of {name} is not supported")
        size = self.uint32()
        if size != math.prod(shape) * dtype.itemsize:
            raise ModelError(
                f"{self._label}: damaged: {name} of shape {shape} and type {dtype} "
                f"cannot have {size} bytes"
            )
        return np.frombuffer(self._take(size, f"data of {name}"), dtype).reshape(shape)

    def expect_end(self) -> None:
        left = len(self._data) - self._offset
        if left:
            raise ModelError(f"{self._label}: damaged: {left} bytes follow the end")
