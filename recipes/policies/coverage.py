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
    """Requests with the same number of tokens each, and the attention of every head for them."""

    requests: tuple[Request, ...]
    tokens: tuple[tuple[int, ...], ...]
    attention: tuple[Probabilities, ...]


def ask(subject: Subject, full: Sequence[Finished], steps: int) -> Asked:
    """The first `steps` tokens of those answers that are as long."""
    long = [one for one in full if len(one.tokens) >= steps]
    assert long, f"no answer of {steps} tokens"
    requests = [one for one in subject.requests if one.key in {done.request.key for done in long}]
    attention = []
    for one in long:
        assert one.attention is not None, "the adapter must show all heads"
        attention.append(one.attention[1:steps])
    return Asked(tuple(requests), tuple(one.tokens[:steps] for one in long), tuple(attention))


def coverage(subject: Subject, policy: EvictionPolicy, asked: Asked) -> dict[str, Any]:
    """Share of the mass on the speech that the policy covers, over all and by layer.

    Heads count by the mass that they have on the speech. The token that the prompt gives is left
    out: it reads everything.
    """
    done = given(subject, policy, asked.requests, asked.tokens, all_heads=True).done
    shares, masses = [], []
    for one, before in zip(done, asked.attention, strict=True):
        assert one.attention is not None
        shares.append(covered(before, one.attention[1:]))
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
