"""Measures how far a recogniser's heads spread their attention over the speech."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from murmur_cli.asr.base import AsrBackend
from murmur_cli.engine.policies.attention_spread import AttentionSpread, SpreadRecord
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.head_budgets import share_out
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.errors import UsageError
from murmur_cli.types.kv_shares import HeadSpread


@runtime_checkable
class PolicyBackend(AsrBackend, Protocol):
    """A backend that can decode under another policy."""

    @property
    def kv_heads(self) -> tuple[int, ...]:
        """KV heads of each layer that attends to speech."""

    def with_policy(self, policy: EvictionPolicy) -> AsrBackend:
        """The same weights under another policy. Sessions of only one of them may be open."""


class HeadSpreadMeter:
    """Decodes as policy 'none' does, and notes where every KV head attends.

    Args:
        backend: a PolicyBackend; one that shares its work out over devices is none.

    Attributes:
        backend: what recordings are to be recognised with.
    """

    def __init__(self, backend: AsrBackend) -> None:
        assert isinstance(backend, PolicyBackend), backend
        self._record = SpreadRecord()
        self._layers = len(backend.kv_heads)
        rule = AttentionSpread(record=self._record)
        self.backend = backend.with_policy(EvictionPolicy("none", rule, KeepAll()))

    @property
    def steps(self) -> int:
        """Decoded tokens that were measured."""
        return self._record.steps

    @property
    def spreads(self) -> tuple[tuple[HeadSpread, ...], ...]:
        """By layer and KV head; empty for layers that see a window of their own."""
        return tuple(self._record.layer(layer) for layer in range(self._layers))

    def shares(self, mean: float) -> tuple[tuple[float, ...], ...]:
        """Shares of the speech by layer and KV head, of this mean.

        Raises:
            UsageError: nothing was decoded.
        """
        if not self.steps:
            raise UsageError("murmur calibrate: no speech was found; give a recording with speech")
        return share_out(self.spreads, mean)
