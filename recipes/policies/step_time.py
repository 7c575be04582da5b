"""CPU time of a decode step under a policy, beside that of full attention."""

from __future__ import annotations

import statistics
from typing import Any

from murmur_cli.engine.policies.base import EvictionPolicy
from policies.coverage import Asked
from policies.subject import Subject, given

ROUNDS = 3


def step_time(
    subject: Subject, policy: EvictionPolicy, full: EvictionPolicy, asked: Asked
) -> dict[str, Any]:
    """Median ratio of rounds in alternation: full attention's step over the policy's.

    Of the process, not of a clock on the wall, so that other jobs on the machine count little.
    Both write the same tokens; the step that loads the speech is left out.
    """
    ratios, own_s = [], []
    for _ in range(ROUNDS):
        base = given(subject, full, asked.requests, asked.tokens, all_heads=False).cpu_s
        own = given(subject, policy, asked.requests, asked.tokens, all_heads=False).cpu_s
        ratios.append(base / own)
        own_s.append(own)
    steps = len(asked.tokens[0]) - 2
    return {
        "times_faster": round(statistics.median(ratios), 3),
        "step_ms": round(1000 * statistics.median(own_s) / steps, 3),
        "rows": len(asked.requests),
        "steps": steps,
    }
