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
    pair that comes first. Time is cubic in the number of voices at worst, memory quadratic.
    """
    count = len(vectors)
    sums = np.asarray(vectors, dtype=np.float64) * np.asarray(weights, dtype=np.float64)[:, None]
    labels = np.arange(count)
    blocked = apart | np.eye(count, dtype=np.bool_)
    similarity = np.where(blocked, -np.inf, cosines(sums, sums))
    groups = count
    while groups > minimum:
        best = int(similarity.argmax())
        keep, drop = sorted(divmod(best, count))
        value = similarity[keep, drop]
        if value == -np.inf:
            break
        if value < threshold and (maximum is None or groups <= maximum):
            break
        sums[keep] += sums[drop]
        labels[labels == drop] = keep
        blocked[keep] |= blocked[drop]
        blocked[:, keep] |= blocked[:, drop]
        blocked[drop] = blocked[:, drop] = True
        similarity[drop] = similarity[:, drop] = -np.inf
        row = np.where(blocked[keep], -np.inf, cosines(sums[keep : keep + 1], sums)[0])
        similarity[keep] = similarity[:, keep] = row
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
