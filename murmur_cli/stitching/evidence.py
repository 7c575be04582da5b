"""Why each local voice got its speaker: the similarities behind the decision."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from murmur_cli.stitching.local_voice import LocalVoice
from murmur_cli.stitching.moved_turns import Move
from murmur_cli.types import MovedTurn, StitchDecision
from murmur_cli.voice_clustering import Labels, Vectors

_MIN_NORM = 1e-9


def decide(
    voices: Sequence[LocalVoice], groups: Labels, moves: Sequence[Move], names: Sequence[str]
) -> tuple[StitchDecision, ...]:
    """One decision for each voice, in the order of the voices, with its turns that moved.

    A voice is compared with the centre of its speaker's other voices and with the centres of
    the other speakers. Without an embedding there is nothing to compare.
    """
    dimension = max(
        (voice.embedding.size for voice in voices if voice.embedding is not None), default=1
    )
    weighted = np.array([_weighted(voice, dimension) for voice in voices])
    sums = np.zeros((len(names), dimension))
    np.add.at(sums, groups, weighted)
    moved: dict[int, list[MovedTurn]] = defaultdict(list)
    for move in moves:
        moved[move.row].append(_moved(voices[move.row], move, names))
    return tuple(
        replace(_decision(voice, int(group), own, sums, names), moved=tuple(moved[row]))
        for row, (voice, group, own) in enumerate(zip(voices, groups, weighted, strict=True))
    )


def _moved(voice: LocalVoice, move: Move, names: Sequence[str]) -> MovedTurn:
    turn = voice.sounds[move.turn]
    return MovedTurn(
        turn.span, turn.clean_s, names[move.group], move.similarity, move.former_similarity
    )


def _weighted(voice: LocalVoice, dimension: int) -> Vectors:
    if voice.embedding is None:
        return np.zeros(dimension)
    weighted: Vectors = voice.embedding.astype(np.float64) * voice.weight_s
    return weighted


def _decision(
    voice: LocalVoice, group: int, own: Vectors, sums: Vectors, names: Sequence[str]
) -> StitchDecision:
    similarity = _cosine(own, sums[group] - own)
    others = _cosines(own, sums)
    others[group] = -np.inf
    nearest = int(others.argmax())
    best = None if others[nearest] == -np.inf else (float(others[nearest]), nearest)
    return StitchDecision(
        chunk_index=voice.chunk_index,
        local_speaker=voice.local_speaker,
        speaker=names[group],
        clean_s=voice.clean_s,
        similarity=similarity,
        runner_up=None if best is None else names[best[1]],
        runner_up_similarity=None if best is None else best[0],
        margin=None if best is None or similarity is None else similarity - best[0],
    )


def _cosine(left: Vectors, right: Vectors) -> float | None:
    """Cosine of two vectors; None if one of them is zero up to rounding."""
    norms = float(np.linalg.norm(left)), float(np.linalg.norm(right))
    if min(norms) < _MIN_NORM:
        return None
    return float(np.clip(left @ right / (norms[0] * norms[1]), -1.0, 1.0))


def _cosines(own: Vectors, sums: Vectors) -> Vectors:
    """Cosine with each of the sums; minus infinity where `_cosine` has none."""
    norms = np.linalg.norm(sums, axis=1)
    length = float(np.linalg.norm(own))
    comparable = (norms >= _MIN_NORM) & (length >= _MIN_NORM)
    scale = np.where(comparable, norms * length, 1.0)
    found: Vectors = np.where(comparable, np.clip(sums @ own / scale, -1.0, 1.0), -np.inf)
    return found
