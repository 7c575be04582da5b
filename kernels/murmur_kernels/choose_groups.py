"""Fills budgets of entries with whole groups, the best for this step's query first.

    score[n]  as `centroid_score` or `page_score` define it, -inf for padding; with deviations
              the best over heads of scale q . low + log size + min(t^2 / 2, MOST_GAIN) + reach t,
              t = scale |q| deviation; with running averages, these are brought up to date by it
    best      groups by falling score, of equal ones the first
    taken_i = min(size(best_i), budget - sum_{j < i} taken_j),     0 from the rank on that has no
              range left; with summaries, 0 from the first on that does not fit whole
    ranges  = first_entry + start(best_i) + (0, taken_i)                       where taken_i > 0
    log_counts[n] = NO_WEIGHT where n is read, else log_sizes[n]               with summaries

Everything about groups lies in a state of slots and is read and written there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from murmur_kernels.compiled import LANES
from murmur_kernels.dispatch import implementation
from murmur_kernels.group_choice import PAGE_FORMULAS, ChoiceKind, GroupChoice
from murmur_kernels.tensor_checks import FLOATS, INT32, check_group, check_tensor

if TYPE_CHECKING:
    from murmur_kernels.compiled.machine_code import MachineCode


def choose_groups(
    query: torch.Tensor, choice: GroupChoice, places: torch.Tensor, scale: float
) -> None:
    """Choose for the rows that are due.

    `decode_attention` does it on its way where it is given the choice.

    Args:
        query: (rows, query_heads, head_dim), any float dtype.
        choice: what of.
        places: (rows,) int32, the slot of each row, no two alike; a row that is outside of the
            state, such as at -1, chooses nothing. On CUDA no row may be.
        scale: of the attention; a factor of 'dot'.

    Raises:
        ValueError: shapes, dtypes or devices that do not fit.
    """
    check_choice_fits(query, choice, places)
    code = compiled_choice(choice, query.device)
    if code is not None:
        from murmur_kernels.compiled.choice import choose_compiled

        choose_compiled(code, query, choice, places, scale)
    else:
        from murmur_kernels.torch_ops.choose_groups import choose_groups_torch

        choose_groups_torch(query, choice, places, scale)


def check_choice_fits(query: torch.Tensor, choice: GroupChoice, places: torch.Tensor) -> None:
    """Raise ValueError unless the choice is one for this query."""
    low = choice.state.low
    check_tensor("query", query, (None, None, low.shape[3]), FLOATS, low.device)
    rows, heads, _ = query.shape
    check_group(heads, low.shape[1])
    check_tensor("places", places, (rows,), INT32, low.device)
    if len(choice.due) != rows or len(choice.fresh) != rows:
        raise ValueError(
            f"the choice is that of {len(choice.due)} rows ({len(choice.fresh)} in fresh), "
            f"the query has {rows}"
        )
    if (choice.state.high is None) == (choice.ranking.formula in PAGE_FORMULAS):
        raise ValueError(f"'{choice.ranking.formula}' and high do not go together")
    if choice.state.deviations is not None and not choice.ranking.by_mass:
        raise ValueError("deviations are of ranks by mass")


def compiled_choice(choice: GroupChoice, device: torch.device) -> MachineCode | None:
    """The machine code of this kind of choice; None where torch's operations choose."""
    state, ranking = choice.state, choice.ranking
    if implementation(device) == "triton" or state.low.shape[3] % LANES:
        return None
    try:
        from murmur_kernels.compiled.choice_module import choice_code
    except ImportError:  # no llvmlite for this platform
        return None
    return choice_code(
        ChoiceKind(
            state.low.shape[3],
            state.low.dtype,
            ranking.formula,
            ranking.reduce,
            by_mass=ranking.by_mass,
            averaged=state.averages is not None,
            summaries=state.log_counts is not None,
            spread=state.deviations is not None,
        )
    )
