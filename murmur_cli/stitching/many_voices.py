"""Voices of a recording grouped by their embeddings, in bounded memory however many there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.stitching.local_voice import LocalVoice
from murmur_cli.voice_clustering import Labels, Vectors, group_voices

MAX_TOGETHER = 1024
"""Voices that are compared each with each: 8 MB. Ten hours in chunks of 300 s hold fewer; what
exceeds it (chunks of a second) is grouped in stretches first, then the groups."""


@dataclass(frozen=True, slots=True)
class _Groups:
    """Groups of voices in order of their first member.

    sums: (groups, dimension) embeddings weighted by seconds. seconds: (groups,).
    heard_in: for each group the places that it has a voice of. channel: for each group.
    """

    sums: Vectors
    seconds: Vectors
    heard_in: Sequence[frozenset[tuple[int, int]]]
    channel: Sequence[int | None]

    def __len__(self) -> int:
        return len(self.seconds)

    def part(self, start: int, end: int) -> _Groups:
        """Neighbouring groups."""
        return _Groups(
            self.sums[start:end],
            self.seconds[start:end],
            self.heard_in[start:end],
            self.channel[start:end],
        )

    def joined(self, labels: Labels) -> _Groups:
        """The groups of these groups."""
        count = int(labels.max()) + 1
        sums, seconds = np.zeros((count, self.sums.shape[1])), np.zeros(count)
        np.add.at(sums, labels, self.sums)
        np.add.at(seconds, labels, self.seconds)
        heard_in: list[set[tuple[int, int]]] = [set() for _ in range(count)]
        channel: list[int | None] = [None] * count
        for label, places, heard in zip(labels.tolist(), self.heard_in, self.channel, strict=True):
            heard_in[label] |= places
            channel[label] = heard
        return _Groups(sums, seconds, [frozenset(places) for places in heard_in], channel)

    def apart(self) -> npt.NDArray[np.bool_]:
        """Which two are known to be different people: (groups, groups)."""
        number: dict[int | None, int] = {}
        channel = np.array([number.setdefault(heard, len(number)) for heard in self.channel])
        apart: npt.NDArray[np.bool_] = channel[:, None] != channel[None, :]
        rows: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, places in enumerate(self.heard_in):
            for place in places:
                rows[place].append(row)
        for together in rows.values():
            apart[np.ix_(together, together)] = True
        return apart

    def grouped(self, threshold: float, minimum: int, maximum: int | None) -> Labels:
        """See `group_voices`."""
        return group_voices(
            self.sums / self.seconds[:, None],
            self.seconds,
            self.apart(),
            threshold=threshold,
            minimum=minimum,
            maximum=maximum,
        )


def group_many(
    voices: Sequence[LocalVoice],
    *,
    threshold: float,
    minimum: int,
    maximum: int | None,
    max_together: int = MAX_TOGETHER,
) -> Labels:
    """Group of each voice, as `group_voices`; all voices have an embedding.

    Above `max_together` voices, stretches of as many are grouped by themselves, at the same
    threshold and into at most half as many groups, until few enough are left.
    """
    seconds = np.array([voice.weight_s for voice in voices])
    vectors = np.array([voice.embedding for voice in voices], dtype=np.float64)
    groups = _Groups(
        vectors * seconds[:, None],
        seconds,
        [frozenset([voice.heard_in]) for voice in voices],
        [voice.channel for voice in voices],
    )
    labels: Labels = np.arange(len(voices))
    while len(groups) > max_together:
        made = _in_stretches(groups, threshold, max_together)
        if int(made.max()) + 1 == len(groups):
            break  # all in one place: nothing may be joined
        labels = made[labels]
        groups = groups.joined(made)
    final: Labels = groups.grouped(threshold, minimum, maximum)[labels]
    return final


def _in_stretches(groups: _Groups, threshold: float, max_together: int) -> Labels:
    made: list[Labels] = []
    found = 0
    for start in range(0, len(groups), max_together):
        stretch = groups.part(start, start + max_together)
        made.append(stretch.grouped(threshold, 1, max_together // 2) + found)
        found = int(made[-1].max()) + 1
    return np.concatenate(made)
