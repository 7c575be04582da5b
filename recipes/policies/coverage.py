"""How much of the attention a policy covers, with the same past for all policies.

Every policy writes the same tokens, those of full attention, so that its queries are asked at the
same moments. Of head h at step t, p are the probabilities over the speech under full attention
and p' those under the policy, where the probability of a summary is shared out evenly among its
entries. Covered is sum_j min(p_j, p'_j). For a policy that leaves entries out, p' is p on what it
reads, divided by its sum: the minimum is p there and nothing elsewhere, and the sum is the mass
that is retained. The bound |o - o'| <= (1 - covered) D holds with and without summaries, because
1 - sum_j min(p_j, p'_j) is the distance in variation of the two (`tests/property`).

In deeper layers the queries of the two runs differ a little, by what the layers below lost; that
counts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.request import Finished, Request
from policies.grid import FULL, policy_of
from policies.subject import Head, Subject, given

Probabilities = npt.NDArray[np.floating[Any]]
"""(steps, heads, entries): over the speech; what is left of 1 lies on prompt and output."""


def covered(full: Probabilities, own: Probabilities) -> npt.NDArray[np.float64]:
    """(steps, heads): sum_j min(p_j, p'_j) over the speech, in float64."""
    least: npt.NDArray[np.float64] = np.minimum(full, own).sum(axis=2, dtype=np.float64)
    return least


def mass(full: Probabilities) -> npt.NDArray[np.float64]:
    """(steps, heads): what lies on the speech."""
    total: npt.NDArray[np.float64] = full.sum(axis=2, dtype=np.float64)
    return total


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests with as many tokens each, and what all heads see under full attention."""

    requests: tuple[Request, ...]
    tokens: tuple[tuple[int, ...], ...]
    attention: tuple[Probabilities, ...]


def asked_alike(
    subject: Subject, tokens: Sequence[Sequence[int]], steps: int, *, all_heads: bool
) -> Asked:
    """The first `steps` tokens of those answers that are as long; with all heads the attention too.

    tokens: the answers to `subject.requests` under full attention.
    """
    long = [number for number, one in enumerate(tokens) if len(one) >= steps]
    assert long, f"no answer of {steps} tokens"
    requests = [subject.requests[number] for number in long]
    first = [tuple(tokens[number][:steps]) for number in long]
    attention: list[Probabilities] = []
    if all_heads:
        policy = policy_of(FULL, subject.rates)
        for one in given(subject, policy, requests, first, all_heads=True).done:
            attention.append(_after_prompt(one))
    return Asked(tuple(requests), tuple(first), tuple(attention))


def _after_prompt(done: Finished) -> Probabilities:
    """Without the token that the prompt gives: it reads everything."""
    assert done.attention is not None, "the adapter must show all heads"
    return done.attention[1:]


def coverage(subject: Subject, policy: EvictionPolicy, asked: Asked) -> dict[str, Any]:
    """Share of the mass on the speech that the policy covers, over all and by layer.

    Heads count by the mass that they have on the speech.
    """
    done = given(subject, policy, asked.requests, asked.tokens, all_heads=True).done
    shares, masses = [], []
    for one, before in zip(done, asked.attention, strict=True):
        shares.append(covered(before, _after_prompt(one)))
        masses.append(mass(before))
    by_head = np.concatenate(shares).sum(axis=0), np.concatenate(masses).sum(axis=0)
    return {
        "covered": _share(*by_head),
        "by_layer": [_share(*(part[at] for part in by_head)) for at in layers_of(subject.heads)],
        "steps": sum(len(one) for one in shares),
    }


def _share(part: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> float:
    return round(float(part.sum() / whole.sum()), 5)


def layers_of(heads: Sequence[Head]) -> list[list[int]]:
    """Numbers of the heads of each layer."""
    layers = sorted({layer for layer, _ in heads})
    return [[n for n, (of, _) in enumerate(heads) if of == layer] for layer in layers]
