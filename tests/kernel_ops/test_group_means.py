"""`group_means` against numpy in float64."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import torch

from murmur_kernels import group_means


def int32(values: object) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_groups_when_some_are_empty_and_rows_shorter_then_means_of_numpy(
    dtype: torch.dtype,
) -> None:
    cache = torch.full((3, 2, 20, 4), math.nan)
    cache[2, :, 1:13] = torch.randn(2, 12, 4)
    cache[0, :, 4:9] = torch.randn(2, 5, 4)
    cache = cache.to(dtype)
    ends = [[[1, 1, 9, 12], [3, 4, 4, 12]], [[5, 5, 5, 5], [2, 3, 5, 5]]]
    slots, starts, lengths = [2, 0], [1, 4], [12, 5]
    got = group_means(cache, int32(slots), int32(starts), int32(lengths), int32(ends), places=15)
    assert got.dtype == torch.float32
    for row in range(2):
        for head in range(2):
            edges = [0, *ends[row][head]]
            region = cache[slots[row], head, starts[row] :].double().numpy()
            for group, (begin, end) in enumerate(pairwise(edges)):
                wanted = region[begin:end].mean(axis=0) if end > begin else np.zeros(4)
                np.testing.assert_allclose(got[row, head, group], wanted, atol=1e-6)


def test_ends_when_of_other_heads_then_value_error_names_them() -> None:
    row = int32([0])
    with pytest.raises(ValueError, match="want ends of shape"):
        group_means(torch.zeros(1, 2, 4, 4), row, row, row, int32([[[0]]]), places=4)
