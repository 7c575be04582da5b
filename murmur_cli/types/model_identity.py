"""Which weights a result comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which weights produced a result."""

    name: str
    source: str
    sha256: str
    licence: str
