"""Muon: momentum whose matrix is made orthogonal before it is applied.

torch's own works in bfloat16, which a CPU without it emulates: 2.1 s a step of this model against
0.14 s in float32.

Source: Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024, with the
scale of Liu et al., arXiv 2502.16982 (an update as large as AdamW's).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

MOMENTUM = 0.95
WEIGHT_DECAY = 0.01
ADAMW_SIZE = 0.2
"""Root mean square of AdamW's updates, of which the learning rate is a multiple."""

ITERATIONS = 5
COEFFICIENTS = (3.4445, -4.7750, 2.0315)


class Muon(torch.optim.Optimizer):
    """For matrices only, float32."""

    def __init__(self, matrices: Iterable[torch.nn.Parameter], lr: float) -> None:
        super().__init__(matrices, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Move each matrix by its momentum, made orthogonal."""
        assert closure is None
        for group in self.param_groups:
            for matrix in group["params"]:
                momentum = self.state[matrix].setdefault("momentum", torch.zeros_like(matrix))
                momentum.lerp_(matrix.grad, 1 - MOMENTUM)
                update = orthogonal(matrix.grad.lerp(momentum, MOMENTUM))
                size = ADAMW_SIZE * max(matrix.shape) ** 0.5
                matrix.mul_(1 - group["lr"] * WEIGHT_DECAY).add_(update, alpha=-group["lr"] * size)


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """About the nearest matrix whose singular values are all 1 (between 0.7 and 1.2)."""
    is_tall = matrix.shape[0] > matrix.shape[1]
    wide = matrix.T if is_tall else matrix
    wide = wide / (wide.norm() + 1e-7)
    first, third, fifth = COEFFICIENTS
    for _ in range(ITERATIONS):
        square = wide @ wide.T
        wide = first * wide + (third * square + fifth * square @ square) @ wide
    update: torch.Tensor = wide.T if is_tall else wide
    return update
