"""Every retrieval policy: the error bound, and what a row may depend on."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.engine.policies.registry import RETRIEVAL
from support.indexed_speech import IndexedSpeech


def drawn(seed: int, *sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("name", sorted(set(RETRIEVAL) - {"c3r"}))
@given(
    seed=st.integers(0, 10**6),
    entries=st.integers(20, 60),
    budget=st.integers(1, 19),
    group=st.sampled_from([1, 3]),
    sharpness=st.sampled_from([0.3, 1.0, 3.0]),
)
@settings(deadline=None, max_examples=25)
def test_error_when_entries_are_left_out_then_within_the_bound(
    name: str, seed: int, entries: int, budget: int, group: int, sharpness: float
) -> None:
    """|o - o_sel| <= (1 - retained mass) * diameter of the values, for each query head."""
    keys, values = drawn(seed, 1, 2, entries, 6), drawn(seed + 1, 1, 2, entries, 6)
    prompt, query = (
        drawn(seed + 2, 1, 4, 2 * group, 6),
        sharpness * drawn(seed + 3, 1, 2 * group, 6),
    )
    speech = IndexedSpeech(name, keys, values, budget=budget, prompt=_if_observed(name, prompt))
    kept = speech.kept(query)[0]
    mixed, _, _ = speech.attend(query)
    for head in range(2 * group):
        k, v = (part[0, head // group].double() for part in (keys, values))
        shares = torch.softmax(k @ query[0, head].double(), dim=0)
        retained = shares[sorted(kept[head // group])].sum()
        error = (shares @ v - mixed[0, head].double()).norm()
        assert error <= (1 - retained) * torch.cdist(v, v).max() + 1e-5


@pytest.mark.parametrize("name", sorted(RETRIEVAL))
@given(seed=st.integers(0, 10**6), entries=st.integers(20, 40))
@settings(deadline=None, max_examples=10)
def test_row_when_among_others_then_reads_what_it_reads_alone(
    name: str, seed: int, entries: int
) -> None:
    keys, prompt = drawn(seed, 3, 2, entries, 6), drawn(seed + 1, 3, 4, 2, 6)
    options = {"budget": 7}
    prompt_of = _if_observed(name, prompt)
    queries = [drawn(seed + 2 + step, 3, 2, 6) for step in range(3)]
    together = IndexedSpeech(name, keys, prompt=prompt_of, **options)
    kept = [together.kept(query, step) for step, query in enumerate(queries, start=1)]
    for row in range(3):
        one = slice(row, row + 1)
        alone = IndexedSpeech(
            name, keys[one], prompt=None if prompt_of is None else prompt_of[one], **options
        )
        for step, query in enumerate(queries, start=1):
            assert alone.kept(query[one], step)[0] == kept[step - 1][row]


def _if_observed(name: str, prompt: torch.Tensor) -> torch.Tensor | None:
    """Policies that rank by the query of the step are not shown the prompt."""
    return prompt if name in ("h2o", "snapkv", "pyramidkv", "chunkkv", "voxzip") else None
