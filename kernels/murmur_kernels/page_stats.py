"""Statistics of the keys of every page of a region, per channel.

page p of row r holds entries starts[r] + j,   p * page_size <= j < (p + 1) * page_size,
j < lengths[r]

'minmax':     low = min_j k_j,    high = max_j k_j                            (Quest)
'deviation':  low = mean_j k_j,   high = sqrt(mean_j (k_j - mean)^2)          (UNIQUE)
"""

from __future__ import annotations

from typing import Literal

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import (
    FLOAT32,
    INT32,
    check_active,
    check_arena_layer,
    check_at_least,
    check_choice,
    check_tensor,
)

PageStatsKind = Literal["minmax", "deviation"]


def page_stats(
    keys: torch.Tensor,
    slots: torch.Tensor,
    starts: torch.Tensor,
    lengths: torch.Tensor,
    low: torch.Tensor,
    high: torch.Tensor,
    *,
    page_size: int,
    kind: PageStatsKind,
    last_page_only: bool = False,
    active: torch.Tensor | None = None,
) -> None:
    """Write the statistics of the pages that hold an entry; other pages keep what they hold.

    After an entry has been appended, `last_page_only` renews the page it fell into from the
    page's own keys: nothing drifts, and no count is kept.

    Args:
        keys: (slots, kv_heads, capacity, head_dim), one layer of the arena.
        slots, starts, lengths: (rows,) int32, the region of each row; pages follow each other
            from its start, and the last may be short.
        low, high: (rows, kv_heads, pages, head_dim) float32, written: minimum and maximum, or mean
            and population standard deviation. Entries beyond the last of `pages` are not seen.
        page_size: entries of a page.
        kind: which statistics.
        active: (rows,) bool; the pages of other rows keep what they hold. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_arena_layer("keys", keys)
    rows, device = slots.shape[0] if slots.dim() else 0, keys.device
    for name, tensor in (("slots", slots), ("starts", starts), ("lengths", lengths)):
        check_tensor(name, tensor, (rows,), INT32, device)
    check_tensor("low", low, (rows, keys.shape[1], None, keys.shape[3]), FLOAT32, device)
    check_tensor("high", high, low.shape, FLOAT32, device)
    check_at_least("page_size", page_size, 1)
    check_choice("kind", kind, ("minmax", "deviation"))
    check_active(active, rows, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.page_stats import page_stats_triton as run
    else:
        from murmur_kernels.torch_ops.page_stats import page_stats_torch as run
    run(keys, slots, starts, lengths, low, high, page_size, kind, last_page_only, active)
