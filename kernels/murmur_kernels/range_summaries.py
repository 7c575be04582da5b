"""Means of keys and values over ranges of places, and the logarithms of their sizes.

    keys[r, h, s]       = key_sums.center + (key_sums.sums[b] - key_sums.sums[a]) / (b - a)
    values[r, h, s]     = the same of value_sums
    log_counts[r, h, s] = log(b - a),                        (a, b) = ranges[r, h, s]

The summaries of the nodes that `decode_attention` does not read exactly; with keys alone, the
centroids of a frontier. Two rows of sums are read per range, whatever its size.
"""

from __future__ import annotations

import torch

from murmur_kernels.dispatch import implementation
from murmur_kernels.prefix_sums import PrefixSums
from murmur_kernels.tensor_checks import FLOAT32, FLOATS, INT32, check_active, check_tensor


def range_summaries(
    key_sums: PrefixSums,
    value_sums: PrefixSums | None,
    ranges: torch.Tensor,
    counts: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor | None,
    log_counts: torch.Tensor | None,
    *,
    active: torch.Tensor | None = None,
) -> None:
    """Write the summaries of the first counts[r, h] ranges; the others keep what they hold.

    Args:
        key_sums, value_sums: of `prefix_sums`; value_sums and `values` may be absent together.
        ranges: (rows, kv_heads, ranges, 2) int32, half-open and not empty.
        counts: (rows, kv_heads) int32.
        keys, values: (rows, kv_heads, ranges, head_dim), any float dtype, written.
        log_counts: (rows, kv_heads, ranges) float32, written. None: not wanted.
        active: (rows,) bool; the summaries of other rows stay. None: all are.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    device = ranges.device
    check_tensor("ranges", ranges, (None, None, None, 2), INT32, device)
    rows, heads, number, _ = ranges.shape
    check_tensor("counts", counts, (rows, heads), INT32, device)
    if (value_sums is None) != (values is None):
        raise ValueError("value_sums and values go together; one of them is missing")
    for name, sums, out in (("key", key_sums, keys), ("value", value_sums, values)):
        if sums is None or out is None:
            continue
        check_tensor(f"{name}_sums", sums.sums, (rows, heads, None, None), FLOAT32, device)
        dim = sums.sums.shape[3]
        check_tensor(f"center of {name}_sums", sums.center, (rows, heads, dim), FLOAT32, device)
        check_tensor(f"{name}s", out, (rows, heads, number, dim), FLOATS, device)
    if log_counts is not None:
        check_tensor("log_counts", log_counts, (rows, heads, number), FLOAT32, device)
    check_active(active, rows, device)
    if implementation(device) == "triton":
        from murmur_kernels.triton_kernels.range_summaries import range_means_triton as run
    else:
        from murmur_kernels.torch_ops.range_summaries import range_means_torch as run
    run(key_sums.sums, key_sums.center, ranges, counts, keys, log_counts, active)
    if value_sums is not None and values is not None:
        run(value_sums.sums, value_sums.center, ranges, counts, values, None, active)
