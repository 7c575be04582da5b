"""Powerset classes of the segmentation network, decoded to speakers.

Three local speakers ("slots"), at most two at once. Class to active slots:

    0: nobody   1: {0}   2: {1}   3: {2}   4: {0, 1}   5: {0, 2}   6: {1, 2}

Source: A. Plaquet, H. Bredin, "Powerset multi-class cross entropy loss for neural speaker
diarization" (Interspeech 2023).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import numpy.typing as npt

NUM_SLOTS = 3
MAX_AT_ONCE = 2

CLASSES: tuple[tuple[int, ...], ...] = tuple(
    slots for size in range(MAX_AT_ONCE + 1) for slots in combinations(range(NUM_SLOTS), size)
)

MEMBERSHIP: npt.NDArray[np.float32] = np.array(
    [[slot in slots for slot in range(NUM_SLOTS)] for slots in CLASSES], dtype=np.float32
)
"""Shape (classes, slots); 1 where the slot belongs to the class."""


def active_slots(log_probabilities: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Slots of the most probable class: (..., classes) to (..., slots)."""
    decoded: npt.NDArray[np.bool_] = MEMBERSHIP[log_probabilities.argmax(axis=-1)] > 0
    return decoded


def slot_probabilities(log_probabilities: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Probability that each slot talks: (..., classes) to (..., slots), in [0, 1]."""
    marginals: npt.NDArray[np.float32] = np.exp(log_probabilities) @ MEMBERSHIP
    return marginals


def fewer_probabilities(log_probabilities: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Probability that fewer than 1, fewer than 2 slots talk: (..., classes) to (..., 2)."""
    sizes = np.array([len(slots) for slots in CLASSES])
    below = (sizes[:, None] < np.arange(1, MAX_AT_ONCE + 1)).astype(np.float32)
    fewer: npt.NDArray[np.float32] = np.exp(log_probabilities) @ below
    return fewer
