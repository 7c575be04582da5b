"""How many speech entries a step may read: a number, a share of the row's own, or one by head."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from murmur_cli.errors import UsageError

AUTO = "auto"
"""`--kv-budget auto`: the shares of a recipe, which `murmur calibrate` measured."""

HeadShares = tuple[tuple[float, ...], ...]
"""layer -> KV head -> share of the row's speech entries."""


@dataclass(frozen=True, slots=True)
class KvBudget:
    """`--kv-budget`: entries per KV head, a share of the entries that a row has, or shares.

    Exactly one of them is given.

    Attributes:
        entries: the same number for every head.
        share: the same share for every head, above 0 and at most 1.
        by_head: a share for each layer and KV head; a layer without an index has none.

    Raises:
        UsageError: less than one entry, or a share outside 0 to 1.
    """

    entries: int | None = None
    share: float | None = None
    by_head: HeadShares | None = None

    def __post_init__(self) -> None:
        assert sum(one is not None for one in (self.entries, self.share, self.by_head)) == 1, self
        if self.entries is not None and self.entries < 1:
            raise UsageError(f"--kv-budget {self.entries}: give 1 or more entries, or a share")
        for share in (self.share,) if self.share is not None else self._all_shares:
            if not 0 < share <= 1:
                raise UsageError(f"--kv-budget {share:g}: a share is above 0 and at most 1")

    @classmethod
    def parse(cls, text: str) -> KvBudget:
        """'256' is a number of entries, '0.25' a share, '0.1,0.2;0.3,0.4' shares by head.

        Heads are apart by commas, layers by semicolons; a layer that nobody chooses for is empty.

        Raises:
            UsageError: none of these; 'auto', which needs a recipe.
        """
        if text == AUTO:
            raise UsageError(
                "--kv-budget auto: only 'murmur transcribe --kv-budget auto' reads a recipe; give "
                "entries, such as 256, or a share, such as 0.25"
            )
        try:
            if ";" in text or "," in text:
                layers = tuple(map(_shares, text.split(";")))
                if any(layers):
                    return cls(by_head=layers)
            return cls(entries=int(text))
        except ValueError:
            pass
        try:
            return cls(share=float(text))
        except ValueError:
            raise UsageError(
                f"--kv-budget {text}: give entries, such as 256, or a share, such as 0.25"
            ) from None

    def of(self, entries: int) -> int:
        """The budget of a head of a row with so many speech entries; the mean where heads differ.

        Of a share at least one.
        """
        if self.entries is not None:
            return self.entries
        if self.share is not None:
            return _part(self.share, entries)
        shares = self._all_shares
        return max(1, round(sum(_part(share, entries) for share in shares) / len(shares)))

    def of_head(self, layer: int, head: int, entries: int) -> int:
        """The budget of one KV head of a layer."""
        if self.by_head is None:
            return self.of(entries)
        return _part(self.by_head[layer][head], entries)

    def of_layer(self, layer: int, entries: int) -> int:
        """The budget of a layer whose heads share one choice: the mean of its heads."""
        if self.by_head is None:
            return self.of(entries)
        return replace(self, by_head=(self.by_head[layer],)).of(entries)

    def most(self, entries: int) -> int:
        """The largest budget of any head."""
        if self.by_head is None:
            return self.of(entries)
        return _part(max(self._all_shares), entries)

    def covers(self, entries: int) -> bool:
        """Whether every head may read every entry."""
        if self.by_head is None:
            return entries <= self.of(entries)
        return entries <= _part(min(self._all_shares), entries)

    def of_layers(self, layers: Sequence[int]) -> KvBudget:
        """The budget of some layers, counted anew from 0."""
        if self.by_head is None:
            return self
        return replace(self, by_head=tuple(self.by_head[layer] for layer in layers))

    def check_heads(self, kv_heads: Sequence[int]) -> None:
        """Reject shares of another model.

        Args:
            kv_heads: KV heads of each layer of the model.

        Raises:
            UsageError: the shares are of other layers or heads.
        """
        if self.by_head is None or tuple(map(len, self.by_head)) == tuple(kv_heads):
            return
        raise UsageError(
            f"--kv-budget: has shares for {_sizes([len(row) for row in self.by_head])}, and the "
            f"model has {_sizes(kv_heads)}; run 'murmur calibrate' with this model"
        )

    @property
    def _all_shares(self) -> tuple[float, ...]:
        return tuple(share for row in self.by_head or () for share in row)

    def __str__(self) -> str:
        if self.by_head is not None:
            return ";".join(",".join(f"{share:g}" for share in row) for row in self.by_head)
        return str(self.entries) if self.share is None else f"{self.share:g}"


def _shares(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split(","))) if text else ()


def _part(share: float, entries: int) -> int:
    return max(1, math.floor(share * entries))


def _sizes(kv_heads: Sequence[int]) -> str:
    heads = sorted({number for number in kv_heads if number})
    layers = sum(number > 0 for number in kv_heads)
    return f"{layers} layers of {' or '.join(map(str, heads))} KV heads"
