"""What C³'s moving frontier looks like while a window is decoded: how large its nodes are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.indexes.groups import GroupIndex
from murmur_cli.sweeps.grid import PolicySetting
from policies.given_tokens import GivenTokens
from policies.grid import policy_of
from policies.run_lines import Line
from policies.subject import UNGUARDED
from policies.whisper_subject import WhisperSubject

SETTING = PolicySetting("c3", (("budget", "256"),))
LOOKS = (1, 10, 20, 40, 60, 80)
"""Decode steps after which the nodes are counted."""

LARGEST = 10
SMALL = 4
"""Entries of a node that is all but a leaf."""


def frontier(
    subject: WhisperSubject, full: Line, recording: str, setting: PolicySetting = SETTING
) -> Line:
    """Sizes of the active nodes, means over layers and KV heads, on a window of a recording.

    It is decoded with the tokens of full attention, whose figures are `full`.
    """
    numbers = [n for n, one in enumerate(subject.requests) if one.key.startswith(f"{recording} ")]
    number = max(numbers, key=lambda n: len(full["tokens"][n]))
    tokens = full["tokens"][number]
    adapter = subject.adapter()
    policy = policy_of(setting, subject.rates)
    engine = DecodeEngine(adapter, policy, GivenTokens([tokens]), 1, guard=UNGUARDED)
    looks: list[dict[str, Any]] = []
    try:
        engine.submit([replace(subject.requests[number], max_new_tokens=len(tokens))])
        step = 0
        while engine.busy:
            engine.step()
            step += 1
            if step in LOOKS and engine.busy:
                index = adapter.index
                assert isinstance(index, GroupIndex), index
                looks.append({"step": step, **_sizes(index.table.ends - index.table.starts)})
    finally:
        engine.close()
    return {"recording": recording, "tokens": len(tokens), "looks": looks}


def _sizes(sizes: torch.Tensor) -> dict[str, Any]:
    """sizes: (layers, slots, kv_heads, nodes), all slots in use."""
    ordered = sizes.float().flatten(0, 2).sort(dim=1, descending=True).values
    return {
        "nodes": round(float((ordered > 0).sum(dim=1).float().mean()), 1),
        "in_largest": round(float(ordered[:, :LARGEST].sum(dim=1).mean()), 1),
        "largest": round(float(ordered[:, 0].mean()), 1),
        "small": round(float(((ordered > 0) & (ordered <= SMALL)).sum(dim=1).float().mean()), 1),
    }
