"""Reference of `murmur_kernels.frontier_update`: one frontier, every pair tried."""

from __future__ import annotations

import math

from murmur_kernels.reference.tree_order import Node


def start_frontier_reference(nodes: list[Node], size: int) -> list[int]:
    """Active nodes by first place: the largest is split until there are `size`."""
    active = [0]
    while len(active) < size:
        inner = [n for n in active if nodes[n].left_child]
        if not inner:
            break
        largest = min(inner, key=lambda n: (nodes[n].start - nodes[n].end, nodes[n].start))
        active.remove(largest)
        active += [nodes[largest].left_child, nodes[largest].left_child + 1]
    return sorted(active, key=lambda n: nodes[n].start)


def frontier_update_reference(
    nodes: list[Node], active: list[int], averages: list[float], operations: int
) -> list[int]:
    """Changes `active` and `averages` in place; the positions changed."""
    changed: list[int] = []
    for _ in range(operations):
        best, split = -math.inf, None
        for position, node in enumerate(active):
            if nodes[node].left_child and averages[position] > best:
                best, split = averages[position], position
        worst, pair = math.inf, None
        for left, node in enumerate(active):
            for right, other in enumerate(active):
                are_siblings = node > 0 and nodes[nodes[node].parent].left_child == node
                if are_siblings and other == node + 1:
                    cost = max(averages[left], averages[right])
                    if cost < worst:
                        worst, pair = cost, (left, right)
        if split is None or pair is None or not best > worst:
            continue
        left, right = pair
        child, merged = nodes[active[split]].left_child, nodes[active[left]].parent
        for position, node, average in (
            (split, child, best),
            (right, child + 1, best),
            (left, merged, worst),
        ):
            active[position] = node
            averages[position] = average
            changed.append(position)
    return changed
