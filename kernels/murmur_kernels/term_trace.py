"""Where the terms of a selection lie in time, for probabilities in the order of time."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from murmur_kernels.tensor_checks import INT32, check_tensor


@dataclass(frozen=True, slots=True)
class TermTrace:
    """Of a state of slots, at the `places` of a selection.

    Attributes:
        first_entries: (slots,) int32, where the speech starts in the slot.
        permutation: (slots, kv_heads, P) int32; entry first_entry + p of the slot holds what was
            written at first_entry + permutation[p]. None: it lies where it was written.
        starts, ends: (slots, kv_heads, S) int32, places of the speech, half-open, that each
            summary stands for: its probability is shared out evenly among them. None: there are
            no summaries.
    """

    first_entries: torch.Tensor
    permutation: torch.Tensor | None = None
    starts: torch.Tensor | None = None
    ends: torch.Tensor | None = None

    def __post_init__(self) -> None:
        device = self.first_entries.device
        check_tensor("first_entries", self.first_entries, (None,), INT32, device)
        slots = self.first_entries.shape[0]
        if (self.starts is None) != (self.ends is None):
            raise ValueError("starts and ends go together; one of them is missing")
        for name, part in (
            ("permutation", self.permutation),
            ("starts", self.starts),
            ("ends", self.ends),
        ):
            if part is not None:
                check_tensor(name, part, (slots, None, None), INT32, device)
                if part.stride(2) != 1:
                    raise ValueError(f"want {name} with a contiguous last axis")
