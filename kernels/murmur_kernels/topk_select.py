"""The entries with the highest scores, as an ascending index list per (row, KV head).

chosen[r, h] = the min(budgets[r, h], counts[r, h], width) first of the entries j < counts[r, h]
               in the order: protected before others, higher score first, lower j first
indices[r, h] = starts[r] + chosen[r, h], ascending
"""

from __future__ import annotations

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.tensor_checks import BOOL, FLOAT32, INT32, check_active, check_tensor


def topk_select(
    scores: torch.Tensor,
    counts: torch.Tensor,
    budgets: torch.Tensor,
    indices: torch.Tensor,
    num_indices: torch.Tensor,
    *,
    protected: torch.Tensor | None = None,
    starts: torch.Tensor | None = None,
    active: torch.Tensor | None = None,
) -> None:
    """Write the lists and their lengths; what a list does not fill keeps what it holds.

    Of equal scores the lower index comes first, 0.0 and -0.0 are equal, and a NaN is below all
    numbers. A protected entry is only left out where more are protected than the budget holds:
    then the lowest are chosen.

    Args:
        scores: (rows, kv_heads, entries) float32.
        counts: (rows, kv_heads) int32; entries beyond are not read.
        budgets: (rows, kv_heads) int32, how many to choose.
        indices: (rows, kv_heads, width) int32, written.
        num_indices: (rows, kv_heads) int32, written.
        protected: (rows, kv_heads, entries) bool; None: no entry.
        starts: (rows,) int32, added to what is written, such as where a region starts; None: 0.
        active: (rows,) bool; the lists of other rows stay as they are. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    device = scores.device
    check_tensor("scores", scores, (None, None, None), FLOAT32, device)
    rows, heads, _ = scores.shape
    check_tensor("counts", counts, (rows, heads), INT32, device)
    check_tensor("budgets", budgets, (rows, heads), INT32, device)
    check_tensor("indices", indices, (rows, heads, None), INT32, device)
    check_tensor("num_indices", num_indices, (rows, heads), INT32, device)
    if protected is not None:
        check_tensor("protected", protected, scores.shape, BOOL, device)
    if starts is not None:
        check_tensor("starts", starts, (rows,), INT32, device)
    check_active(active, rows, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.topk_select import topk_select_triton as run
    else:
        from murmur_kernels.torch_ops.topk_select import topk_select_torch as run
    run(scores, counts, budgets, indices, num_indices, protected, starts, active)
