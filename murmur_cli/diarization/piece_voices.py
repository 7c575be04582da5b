"""Which voice each piece of clean speech is: grouping by embedding under the windows' evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.frame_grid import FRAME_S
from murmur_cli.diarization.powerset import NUM_SLOTS
from murmur_cli.types import Embedding, SpeakerHints
from murmur_cli.voice_clustering import Labels, Vectors, centres, cosines, group_voices

_MAX_SWEEPS = 10


@dataclass(frozen=True, slots=True)
class VoiceRule:
    """How pieces become voices.

    Attributes:
        threshold: least cosine at which two groups of pieces are one voice.
        core_s: pieces at least this long are grouped; shorter ones, whose embeddings are
            noisy, are attached to the groups afterwards.
        context: share of its slot that a piece's embedding takes in: the network's word that
            the pieces of one slot are one person, right mostly and not always.
        alike: cosine from which two voices are one, whatever the windows say.
        brief_alike: the same where one of them has less than `brief_s` of clean speech.
        brief_s: so much leaves an embedding noisy; less than makes a person by itself.

    The defaults were chosen on meetings, telephone-band talk and a long panel together. Pieces
    of 2 s and more: same speaker .65-.73 (standard deviation .07-.16), different .05-.27 (.09-
    .12), equal errors at .35-.44; centres of groups lie higher. From .5 to .6 (context .05-.2,
    core 1-1.5 s) error rates move by about a point; at .45 voices of telephone bandwidth, where
    different people reach .3-.4, begin to merge. Of two voices of a chunk above .4, those of one
    person had at most 3.5 s on one side (.44-.69), those of two had 10 s and more on both
    (.42-.53).
    """

    threshold: float = 0.55
    core_s: float = 1.5
    context: float = 0.1
    alike: float = 0.6
    brief_alike: float = 0.5
    brief_s: float = 2.0


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of the pieces that have an embedding.

    Attributes:
        seconds: (pieces,) length.
        own: (pieces, dimension) embedding, unit length.
        smoothed: (pieces, dimension) embedding with a share of its slots' others, unit length.
        apart: (pieces, pieces) bool; True if some window hears the two in different slots.
    """

    seconds: Vectors
    own: Vectors
    smoothed: Vectors
    apart: npt.NDArray[np.bool_]


def voices_of_pieces(
    pieces: Sequence[Piece],
    embeddings: Sequence[Embedding | None],
    rule: VoiceRule,
    hints: SpeakerHints,
) -> Labels:
    """Voice of each piece, from 0 without gaps; -1 for a piece without an embedding.

    Long pieces are grouped, short ones attached, then every piece may move to the voice that
    it resembles most, and voices that sound like one are one. `hints` bound the number of
    voices as far as there are pieces; the upper bound outweighs the windows' evidence that two
    slots differ.
    """
    labels = np.full(len(pieces), -1)
    known = [row for row, vector in enumerate(embeddings) if vector is not None]
    if not known:
        return labels
    evidence = gather([pieces[row] for row in known], [embeddings[row] for row in known], rule)
    minimum = (hints.minimum if hints.exact is None else hints.exact) or 1
    maximum = hints.maximum if hints.exact is None else hints.exact
    voices = _group_core(evidence, rule, minimum, maximum)
    _attach(evidence, voices, maximum)
    _settle(evidence, voices)
    labels[known] = _join_alike(evidence, voices, rule, minimum)
    return labels


def gather(
    pieces: Sequence[Piece], embeddings: Sequence[Embedding | None], rule: VoiceRule
) -> Evidence:
    """Evidence of pieces that all have an embedding."""
    seconds = np.array([piece.frames.size * FRAME_S for piece in pieces])
    own = np.array(embeddings, dtype=np.float64)
    num_units = max(max(piece.units) for piece in pieces) + NUM_SLOTS
    member = np.zeros((len(pieces), num_units - num_units % NUM_SLOTS), dtype=np.bool_)
    for row, piece in enumerate(pieces):
        member[row, list(piece.units)] = True
    by_unit = member.astype(np.float64)
    by_window = np.asarray(
        member.reshape(len(pieces), -1, NUM_SLOTS).any(axis=-1), dtype=np.float64
    )
    common_units = by_unit @ by_unit.T
    # Pieces meet in more windows than slots: some window puts them into different slots.
    apart = by_window @ by_window.T > common_units
    same_slot = (common_units > 0).astype(np.float64)
    np.fill_diagonal(same_slot, 0.0)
    weighted = own * seconds[:, None]
    smoothed = weighted + rule.context * (same_slot @ weighted)
    smoothed /= np.maximum(np.linalg.norm(smoothed, axis=1, keepdims=True), 1e-12)
    return Evidence(seconds, own, smoothed, apart)


def _group_core(evidence: Evidence, rule: VoiceRule, minimum: int, maximum: int | None) -> Labels:
    """Voices of the long pieces; -1 for the others."""
    labels = np.full(len(evidence.seconds), -1)
    core = np.flatnonzero(evidence.seconds >= rule.core_s)
    if core.size < minimum:
        core = np.arange(len(labels))
    apart = evidence.apart[np.ix_(core, core)]
    for forbidden in (apart, np.zeros_like(apart)):
        labels[core] = group_voices(
            evidence.smoothed[core],
            evidence.seconds[core],
            forbidden,
            threshold=rule.threshold,
            minimum=minimum,
            maximum=maximum,
        )
        if maximum is None or labels.max() < maximum:
            break
    return labels


def _attach(evidence: Evidence, labels: Labels, maximum: int | None) -> None:
    """Give the pieces without a voice one, the longest first.

    A piece joins the most similar voice that no window hears beside it; if all are heard
    beside it, it is a new voice.
    """
    known = labels >= 0
    centre = centres(evidence.own[known], evidence.seconds[known], labels[known])
    loose = np.flatnonzero(~known)
    for row in sorted(loose.tolist(), key=lambda row: (-evidence.seconds[row], row)):
        similarity = centre @ evidence.smoothed[row]
        beside = np.unique(labels[evidence.apart[row] & (labels >= 0)])
        if beside.size == len(centre) and (maximum is None or len(centre) < maximum):
            labels[row] = len(centre)
            centre = np.vstack([centre, evidence.own[row]])
            continue
        if beside.size < len(centre):
            similarity[beside] = -np.inf
        labels[row] = int(similarity.argmax())


def _settle(evidence: Evidence, labels: Labels) -> None:
    """Move pieces to the voice they resemble most, until none moves.

    A piece is compared with the others of its voice, not with itself; the last piece of a
    voice stays, so no voice is lost.
    """
    weighted = evidence.own * evidence.seconds[:, None]
    sums = np.zeros((int(labels.max()) + 1, weighted.shape[1]))
    np.add.at(sums, labels, weighted)
    size = np.bincount(labels)
    for _ in range(_MAX_SWEEPS):
        moved = False
        for row in range(len(labels)):
            if size[labels[row]] == 1:
                continue
            sums[labels[row]] -= weighted[row]
            best = int(cosines(evidence.smoothed[row : row + 1], sums)[0].argmax())
            sums[best] += weighted[row]
            if best != labels[row]:
                size[labels[row]] -= 1
                size[best] += 1
                labels[row] = best
                moved = True
        if not moved:
            break


def _join_alike(evidence: Evidence, labels: Labels, rule: VoiceRule, minimum: int) -> Labels:
    """The voices with those joined, the most similar first, that only the windows kept apart.

    The network often gives one person two slots when he goes on after a pause or a noise.
    """
    while (count := int(labels.max()) + 1) > minimum:
        centre = centres(evidence.own, evidence.seconds, labels)
        seconds = np.bincount(labels, evidence.seconds, minlength=count)
        brief = np.minimum(seconds[:, None], seconds[None, :]) < rule.brief_s
        similarity = centre @ centre.T
        np.fill_diagonal(similarity, -np.inf)
        similarity[similarity < np.where(brief, rule.brief_alike, rule.alike)] = -np.inf
        one, other = sorted(divmod(int(similarity.argmax()), count))
        if similarity[one, other] == -np.inf:
            break
        labels = np.where(labels == other, one, labels)
        labels = np.where(labels > other, labels - 1, labels)
    return labels
