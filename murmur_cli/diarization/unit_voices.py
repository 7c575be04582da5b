"""From units (slots of windows) to the voices of a chunk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.clean_speech import Cell
from murmur_cli.diarization.powerset import NUM_SLOTS
from murmur_cli.diarization.segmentation import Segmentation
from murmur_cli.types import Embedding, SpeakerHints
from murmur_cli.voice_clustering import Labels, Vectors, centres, group_voices


@dataclass(frozen=True, slots=True)
class VoiceRule:
    """How units become voices.

    Attributes:
        threshold: least cosine at which two groups of units are one voice.
        core_s: a unit with at least this much clean speech takes part in the grouping; the
            others are attached to the groups afterwards.
    """

    threshold: float = 0.5
    core_s: float = 1.0


@dataclass(frozen=True, slots=True)
class Units:
    """Units of a chunk that are active, ascending.

    Attributes:
        index: (units,) window * 3 + slot.
        vectors: (units, dimension) unit length, zeros where there is no clean speech.
        clean_s: (units,) seconds behind the vector.
        apart: (units, units) bool; True for two units that are different voices by evidence.
    """

    index: Labels
    vectors: Vectors
    clean_s: Vectors
    apart: npt.NDArray[np.bool_]


def collect_units(
    segmentation: Segmentation,
    cells: Sequence[Cell],
    embeddings: Sequence[Embedding | None],
    frame_s: float,
) -> Units:
    """Active units with the mean of the embeddings of their cells, weighted by length."""
    active = np.flatnonzero(segmentation.active.any(axis=1).reshape(-1))
    place = {int(unit): row for row, unit in enumerate(active)}
    dimension = next((len(vector) for vector in embeddings if vector is not None), 1)
    sums = np.zeros((len(active), dimension))
    clean_s = np.zeros(len(active))
    for cell, vector in zip(cells, embeddings, strict=True):
        if vector is None:
            continue
        seconds = cell.frames.size * frame_s
        for unit in cell.units:
            sums[place[unit]] += seconds * vector
            clean_s[place[unit]] += seconds
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    vectors = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
    window = active // NUM_SLOTS
    apart = (window[:, None] == window[None, :]) & ~np.eye(len(active), dtype=np.bool_)
    return Units(active, vectors, clean_s, apart)


def voices_of_units(units: Units, rule: VoiceRule, hints: SpeakerHints) -> Labels:
    """Voice of each unit, from 0; -1 for a unit that belongs to none.

    Units with enough clean speech are grouped first. The others follow, those with most clean
    speech first: each joins the most similar group that holds no other slot of its window, or
    starts a group if there is none. A unit without any clean speech belongs to no voice.
    """
    maximum = hints.maximum if hints.exact is None else hints.exact
    minimum = hints.minimum if hints.exact is None else hints.exact
    labels = np.full(len(units.index), -1)
    has_vector = units.clean_s > 0
    core = np.flatnonzero(units.clean_s >= rule.core_s)
    if core.size < (minimum or 1):
        core = np.flatnonzero(has_vector)
    if core.size == 0:
        return labels
    weights = units.clean_s[core]
    labels[core] = group_voices(
        units.vectors[core],
        weights,
        units.apart[np.ix_(core, core)],
        threshold=rule.threshold,
        minimum=minimum or 1,
        maximum=maximum,
    )
    groups = int(labels.max()) + 1
    if maximum is not None and groups > maximum:
        # The user's word outweighs the windows' evidence that two slots differ.
        labels[core] = group_voices(
            units.vectors[core],
            weights,
            np.zeros((core.size, core.size), dtype=np.bool_),
            threshold=rule.threshold,
            minimum=minimum or 1,
            maximum=maximum,
        )
    attach(units, labels, maximum)
    return labels


def attach(units: Units, labels: Labels, maximum: int | None) -> None:
    """Give the units without a voice one."""
    known = np.flatnonzero(labels >= 0)
    centre = centres(units.vectors[known], units.clean_s[known], labels[known])
    loose = np.flatnonzero((labels < 0) & (units.clean_s > 0))
    for unit in sorted(loose, key=lambda row: (-units.clean_s[row], row)):
        taken = labels[units.apart[unit] & (labels >= 0)]
        similarity = centre @ units.vectors[unit]
        similarity[taken] = -np.inf
        best = int(similarity.argmax())
        if similarity[best] > -np.inf:
            labels[unit] = best
        elif maximum is None or len(centre) < maximum:
            labels[unit] = len(centre)
            centre = np.vstack([centre, units.vectors[unit]])
