"""Grouping voices by their embeddings, with pairs that must stay apart.

Agglomerative clustering: the two most similar groups are joined as long as they are similar
enough. The similarity of two groups is the cosine of their weighted sums, so a group's centre
gets better with each voice that joins, and long voices count more than short ones.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]


def group_voices(
    vectors: Vectors,
    weights: Vectors,
    apart: npt.NDArray[np.bool_],
    *,
    threshold: float,
    minimum: int = 1,
    maximum: int | None = None,
) -> Labels:
    """Group of each voice: shape (voices,), numbered from 0 in order of first member.

    Args:
        vectors: (voices, dimension), unit length, finite.
        weights: (voices,), positive.
        apart: (voices, voices), symmetric; True where two voices are never joined.
        threshold: groups less similar than this are not joined, unless there are more than
            `maximum`.
        minimum: stop at this number of groups.
        maximum: go on below the threshold until there are at most this many, as far as
            `apart` allows. Here the pair is joined that loses least (Ward's rule: small groups
            before large ones), or two people would become one to keep a cough apart.

    The result does not depend on the numbering of the voices, up to rounding; ties go to the
    pair that comes first. Memory is quadratic in the number of voices, time nearly so.
    """
    count = len(vectors)
    sums = np.asarray(vectors, dtype=np.float64) * np.asarray(weights, dtype=np.float64)[:, None]
    totals = np.array(weights, dtype=np.float64)
    labels = np.arange(count)
    blocked = apart | np.eye(count, dtype=np.bool_)
    similarity = np.where(blocked, -np.inf, cosines(sums, sums))
    nearest = similarity.argmax(axis=1) if count else labels
    nearest_value = similarity[labels, nearest]
    groups = count
    while groups > minimum:
        row = int(nearest_value.argmax())
        value = nearest_value[row]
        if value == -np.inf:
            break
        pair = row, int(nearest[row])
        if value < threshold:
            if maximum is None or groups <= maximum:
                break
            pair = _least_loss(similarity, totals)
        keep, drop = sorted(pair)
        sums[keep] += sums[drop]
        totals[keep] += totals[drop]
        labels[labels == drop] = keep
        blocked[keep] |= blocked[drop]
        blocked[:, keep] |= blocked[:, drop]
        blocked[drop] = blocked[:, drop] = True
        similarity[drop] = similarity[:, drop] = -np.inf
        joined = np.where(blocked[keep], -np.inf, cosines(sums[keep : keep + 1], sums)[0])
        similarity[keep] = similarity[:, keep] = joined
        # Only rows that pointed at the two can have lost their nearest; all may have found
        # a nearer one in the joined group.
        lost = np.flatnonzero((nearest == keep) | (nearest == drop))
        lost = np.union1d(lost, [keep, drop])
        nearer = (joined > nearest_value) | ((joined == nearest_value) & (keep < nearest))
        nearest[nearer] = keep
        nearest_value[nearer] = joined[nearer]
        nearest[lost] = similarity[lost].argmax(axis=1)
        nearest_value[lost] = similarity[lost, nearest[lost]]
        groups -= 1
    return _renumbered(labels)


def _least_loss(similarity: Vectors, totals: Vectors) -> tuple[int, int]:
    """The pair of groups with the least loss when joined; some pair may be joined."""
    alive = np.flatnonzero((similarity > -np.inf).any(axis=1))
    near = similarity[np.ix_(alive, alive)]
    left, right = totals[alive, None], totals[None, alive]
    loss = np.where(near > -np.inf, (1.0 - near) * left * right / (left + right), np.inf)
    row, column = divmod(int(loss.argmin()), alive.size)
    return int(alive[row]), int(alive[column])


def centres(vectors: Vectors, weights: Vectors, labels: Labels) -> Vectors:
    """Unit-length centre of each group: (groups, dimension)."""
    sums = np.zeros((int(labels.max(initial=-1)) + 1, vectors.shape[1]))
    np.add.at(sums, labels, vectors * weights[:, None])
    return sums / _norms(sums)


def cosines(left: Vectors, right: Vectors) -> Vectors:
    """Cosine of each row of `left` with each row of `right`; 0 for a row that is zero."""
    found: Vectors = (left @ right.T) / (_norms(left) * _norms(right).T)
    return found


def _norms(rows: Vectors) -> Vectors:
    # A sum of opposed voices may vanish; it is then similar to nobody.
    norms: Vectors = np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    return norms


def _renumbered(labels: Labels) -> Labels:
    """The same groups numbered from 0 in order of first member."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank: Labels = np.argsort(np.argsort(first))[inverse.reshape(-1)]
    return rank
