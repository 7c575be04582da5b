"""What keys that are spread about the mean of their group add to its score, by torch."""

from __future__ import annotations

import torch

from murmur_kernels.selection import MOST_GAIN


def spread_steps(query: torch.Tensor, deviations: torch.Tensor, scale: float) -> torch.Tensor:
    """t = scale |q| deviation of `SecondOrder`: the standard deviation of a group's scores.

    query: (…, heads, head_dim). deviations: (…, 1, groups). Gives (…, heads, groups).
    """
    steps: torch.Tensor = query.norm(dim=-1, keepdim=True) * abs(scale) * deviations
    return steps


def log_gains(steps: torch.Tensor) -> torch.Tensor:
    """min(t^2 / 2, MOST_GAIN), in the shape of the steps."""
    gains: torch.Tensor = (steps.square() / 2).clamp(max=MOST_GAIN)
    return gains
