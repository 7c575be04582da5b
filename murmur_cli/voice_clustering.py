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
            `apart` allows.

    The result does not depend on the numbering of the voices, up to rounding; ties go to the
    pair that comes first. Memory is quadratic in the number of voices, time nearly so.
    """
    count = len(vectors)
    sums = np.asarray(vectors, dtype=np.float64) * np.asarray(weights, dtype=np.float64)[:, None]
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
        if value < threshold and (maximum is None or groups <= maximum):
            break
        keep, drop = sorted((row, int(nearest[row])))
        sums[keep] += sums[drop]
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
