"""The fast grouping against one that looks at every pair in every round."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.voice_clustering import group_voices


def _slow(vectors, weights, apart, threshold, minimum, maximum) -> list[int]:
    groups = [[row] for row in range(len(vectors))]
    while len(groups) > minimum:
        best, pair, least, cheapest = -np.inf, None, np.inf, None
        for left in range(len(groups)):
            for right in range(left + 1, len(groups)):
                if any(apart[a, b] for a in groups[left] for b in groups[right]):
                    continue
                one = sum(weights[a] * vectors[a] for a in groups[left])
                two = sum(weights[b] * vectors[b] for b in groups[right])
                value = one @ two / (np.linalg.norm(one) * np.linalg.norm(two))
                total = sum(weights[groups[left]]), sum(weights[groups[right]])
                loss = (1 - value) * total[0] * total[1] / (total[0] + total[1])
                if loss < least:
                    least, cheapest = loss, (left, right)
                if value > best:
                    best, pair = value, (left, right)
        if best < threshold:
            pair = cheapest
        allowed = best >= threshold or (maximum is not None and len(groups) > maximum)
        if pair is None or not allowed:
            break
        groups[pair[0]] += groups.pop(pair[1])
    label = {row: number for number, group in enumerate(groups) for row in group}
    return [label[row] for row in range(len(vectors))]


@given(
    st.integers(1, 9),
    st.integers(0, 2**32 - 1),
    st.floats(-0.5, 0.9),
    st.integers(1, 3),
    st.sampled_from([None, 3, 5]),
)
@settings(deadline=None, max_examples=60)
def test_groups_when_fast_then_equal_to_looking_at_all_pairs(
    count, seed, threshold, minimum, maximum
) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = random.uniform(0.5, 9.0, count)
    apart = random.random((count, count)) < 0.2
    apart = (apart | apart.T) & ~np.eye(count, dtype=bool)
    found = group_voices(
        vectors, weights, apart, threshold=threshold, minimum=minimum, maximum=maximum
    )
    assert found.tolist() == _slow(vectors, weights, apart, threshold, minimum, maximum)
