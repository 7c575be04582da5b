"""Turns that sound like another speaker of the recording than their local speaker does.

In a chunk of a minute or two a person may be heard too little to be told from another, and two
become one local voice. Over the whole recording both are known well: then each turn is compared
with every speaker by itself, and one that is clearly another's goes there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.stitching.local_voice import LocalVoice
from murmur_cli.types import TimeSpan
from murmur_cli.voice_clustering import Labels, Vectors, cosines

MIN_TURN_S = 0.5
"""A turn with less clean speech says too little of its voice."""

LEAST_SIMILARITY = 0.5
"""As for two groups of voices that are one speaker."""

LEAST_MARGIN = 0.1
"""By so much the other speaker must be more similar. On meetings, talks and a long panel, in
chunks of 120 and 300 s, the same turns move with .05 to .3."""

MAX_SHARED = 0.5
"""Somebody who talks for more of the turn already does not get it too."""

_TURNS_AT_ONCE = 2048
_SILENT = 1e-9


@dataclass(frozen=True, slots=True)
class Move:
    """Turn `turn` of voice `row` goes to `group`; see `MovedTurn` for the similarities."""

    row: int
    turn: int
    group: int
    similarity: float
    former_similarity: float


def find_moves(voices: Sequence[LocalVoice], groups: Labels) -> tuple[Move, ...]:
    """The turns of voices that are clearly of another group than their voice, in order.

    A turn stays in its channel, and nobody loses all turns. All turns are compared with the
    groups as stitching made them, so no order matters.
    """
    known = [
        (row, at)
        for row, voice in enumerate(voices)
        for at, turn in enumerate(voice.sounds)
        if turn.embedding is not None and turn.clean_s >= MIN_TURN_S
    ]
    if not known or int(groups.max()) == 0:
        return ()
    turns = [voices[row].sounds[at] for row, at in known]
    unit = np.array([turn.embedding for turn in turns], dtype=np.float64)
    weighted = unit * np.array([turn.clean_s for turn in turns])[:, None]
    rows = [row for row, _ in known]
    found = _compare(unit, weighted, groups[rows], _channels(voices, groups)[rows])
    moves = [
        Move(*known[at], int(found.best[at]), float(found.similarity[at]), float(found.own[at]))
        for at in np.flatnonzero(found.moves)
        if not _talks_then(voices, groups, int(found.best[at]), turns[at].span)
    ]
    return tuple(_without_leaving_nobody(voices, groups, moves))


@dataclass(frozen=True, slots=True)
class _Compared:
    """Of each turn: the most similar other group, the cosine with it, and with the rest of its
    own group (infinite where nothing is left to compare with)."""

    best: Labels
    similarity: Vectors
    own: Vectors

    @property
    def moves(self) -> npt.NDArray[np.bool_]:
        found: npt.NDArray[np.bool_] = (self.similarity >= LEAST_SIMILARITY) & (
            self.similarity - self.own >= LEAST_MARGIN
        )
        return found


def _channels(voices: Sequence[LocalVoice], groups: Labels) -> npt.NDArray[np.bool_]:
    """Which groups are of the channel of each voice: (voices, groups)."""
    number: dict[int | None, int] = {}
    channel = np.array([number.setdefault(voice.channel, len(number)) for voice in voices])
    of_group = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    of_group[groups] = channel
    same: npt.NDArray[np.bool_] = channel[:, None] == of_group[None, :]
    return same


def _compare(
    unit: Vectors, weighted: Vectors, groups: Labels, own_channel: npt.NDArray[np.bool_]
) -> _Compared:
    sums = np.zeros((own_channel.shape[1], weighted.shape[1]))
    np.add.at(sums, groups, weighted)
    silent = np.linalg.norm(sums, axis=1) < _SILENT
    rest = sums[groups] - weighted
    length = np.linalg.norm(rest, axis=1)
    own = np.einsum("ij,ij->i", unit, rest) / np.maximum(length, _SILENT)
    best, similarity = np.zeros(len(groups), dtype=np.int64), np.zeros(len(groups))
    for first in range(0, len(groups), _TURNS_AT_ONCE):
        part = slice(first, first + _TURNS_AT_ONCE)
        others = cosines(unit[part], sums)
        others[:, silent] = -np.inf
        others[~own_channel[part]] = -np.inf
        others[np.arange(len(others)), groups[part]] = -np.inf
        best[part] = others.argmax(axis=1)
        similarity[part] = others.max(axis=1)
    return _Compared(best, similarity, np.where(length < _SILENT, np.inf, own))


def _talks_then(voices: Sequence[LocalVoice], groups: Labels, group: int, span: TimeSpan) -> bool:
    """Whether a group's voices talk for most of a span."""
    shared_s = sum(
        span.overlap_s(turn)
        for row in np.flatnonzero(groups == group)
        for turn in voices[int(row)].turns
    )
    return shared_s > MAX_SHARED * span.duration_s


def _without_leaving_nobody(
    voices: Sequence[LocalVoice], groups: Labels, moves: Sequence[Move]
) -> list[Move]:
    """The moves but those out of a group that would lose all its turns, whatever it gets."""
    left = np.bincount(groups, [len(voice.turns) for voice in voices])
    for move in moves:
        left[groups[move.row]] -= 1
    return [move for move in moves if left[groups[move.row]] > 0]
