"""Shares of the speech for each KV head under one mean, by how far its attention spreads.

Ours. A head whose attention lies on few entries needs few of them; the entropy H of its attention
says how many: exp(H) of N entries (`HeadSpread`). Every head gets a share in proportion
to that, but no less than half and no more than twice the mean: grouped keys are ranked by their
means, so even a sharp head needs some room (from a quarter to four times the mean cost 1.9 points
of WER on real meetings), and a step waits for its widest head.
"""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.engine.policies.kv_budget import HeadShares
from murmur_cli.types.kv_shares import HeadSpread

LEAST, MOST = 0.5, 2.0
"""Bounds of a head's share, in means."""

DIGITS = 4
"""Significant ones of a share, so that a small one does not become 0."""
HALVINGS = 60


def share_out(spreads: Sequence[Sequence[HeadSpread]], mean: float) -> HeadShares:
    """Shares by layer and KV head whose mean over the measured heads is `mean`.

    spreads: by layer; a layer that was not measured is empty, and has no shares.
    """
    assert 0 < mean <= 1, mean
    wanted = [head.share for layer in spreads for head in layer]
    assert wanted, "nothing was measured"
    low, high = LEAST * mean, min(1.0, MOST * mean)

    def bounded(factor: float) -> list[float]:
        return [min(high, max(low, factor * share)) for share in wanted]

    below, above = 0.0, high / min(wanted)
    for _ in range(HALVINGS):
        middle = (below + above) / 2
        if sum(bounded(middle)) < mean * len(wanted):
            below = middle
        else:
            above = middle
    # Never above the mean that was asked for, but for the last digit.
    of_head = iter(float(f"{share:.{DIGITS}g}") for share in bounded(below))
    return tuple(tuple(next(of_head) for _ in layer) for layer in spreads)
