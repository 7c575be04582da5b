"""How many speech entries a step may read: a number, or a share of the row's own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from murmur_cli.errors import UsageError


@dataclass(frozen=True, slots=True)
class KvBudget:
    """`--kv-budget`: entries per KV head, or a share of the entries that a row has.

    Exactly one of them is given.

    Raises:
        UsageError: less than one entry, or a share outside 0 to 1.
    """

    entries: int | None = None
    share: float | None = None

    def __post_init__(self) -> None:
        assert (self.entries is None) != (self.share is None), self
        if self.entries is not None and self.entries < 1:
            raise UsageError(f"--kv-budget {self.entries}: give 1 or more entries, or a share")
        if self.share is not None and not 0 < self.share <= 1:
            raise UsageError(f"--kv-budget {self.share:g}: a share is above 0 and at most 1")

    @classmethod
    def parse(cls, text: str) -> KvBudget:
        """'256' is a number of entries, '0.25' a share.

        Raises:
            UsageError: neither.
        """
        try:
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
        """The budget of a row with so many speech entries; of a share at least one."""
        if self.entries is not None:
            return self.entries
        assert self.share is not None
        return max(1, math.floor(self.share * entries))

    def __str__(self) -> str:
        return str(self.entries) if self.share is None else f"{self.share:g}"
