"""From the voices of chunks to the speakers of a recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from murmur_cli.stitching.evidence import decide
from murmur_cli.stitching.local_voice import LocalVoice, collect_voices
from murmur_cli.stitching.many_voices import group_many
from murmur_cli.stitching.moved_turns import Move, find_moves
from murmur_cli.stitching.nearest_voice import NearestVoice
from murmur_cli.types import (
    ChunkDiarization,
    SpeakerHints,
    SpeakerTimeline,
    SpeakerTurn,
    StitchDecision,
    TimeSpan,
)
from murmur_cli.voice_clustering import Labels

SAME_SPEAKER_COSINE = 0.5
"""Least cosine of two groups of voices that are one speaker."""

MIN_VOICE_S = 3.0
"""A voice without a usable embedding that talks at least this long is a speaker of its own."""

ALIKE_COSINE = 0.75
"""Different people hardly ever reach it; above, a bound has split one voice."""

GHOST_TALK_S = 2.0
"""A speaker heard for less may be no person, where another talks at least `LONG_TALK_S`."""

LONG_TALK_S = 10.0


def stitch(chunks: Sequence[ChunkDiarization], hints: SpeakerHints) -> SpeakerTimeline:
    """Global speakers of a recording.

    Local voices are grouped by their embeddings, weighted by clean seconds; two voices of one
    part of a chunk, or of two channels, never become one speaker. A turn that is clearly of
    another speaker than its local voice goes to that one (`moved_turns`). Voices without an
    embedding (None, NaN, zero) follow: one that talks under 3 s joins the speaker who talks
    nearest in time and has no other voice in that chunk; else it is a speaker of its own. Hints
    are obeyed as far as the chunks allow: `maximum` joins voices below the usual similarity,
    `minimum` keeps apart what would be one; what is not possible is said in `warnings`.

    The result does not depend on the order of `chunks` nor on the numbers of local speakers.
    Labels are SPEAKER_00 … in order of first speech.

    Args:
        chunks: one for each chunk; turns count from the start of the recording.
        hints: number of speakers as far as the user knows.
    """
    voices = collect_voices(chunks)
    if not voices:
        return SpeakerTimeline((), (), (), _shortfall(0, hints))
    groups = _groups(voices, hints)
    groups, moves = _in_order_of_first_speech(voices, groups, find_moves(voices, groups))
    names = tuple(f"SPEAKER_{number:02d}" for number in range(int(groups.max()) + 1))
    turns = _turns(voices, groups, moves, names)
    decisions = decide(voices, groups, moves, names)
    return SpeakerTimeline(
        turns=turns,
        speakers=names,
        decisions=decisions,
        warnings=_shortfall(len(names), hints) + _alike(decisions, hints) + _hardly_heard(turns),
    )


def _groups(voices: Sequence[LocalVoice], hints: SpeakerHints) -> Labels:
    """Global number of each voice."""
    minimum = hints.minimum if hints.exact is None else hints.exact
    maximum = hints.maximum if hints.exact is None else hints.exact
    labels: Labels = np.full(len(voices), -1)
    embedded = [row for row, voice in enumerate(voices) if voice.embedding is not None]
    if embedded:
        labels[embedded] = group_many(
            [voices[row] for row in embedded],
            threshold=SAME_SPEAKER_COSINE,
            minimum=minimum or 1,
            maximum=maximum,
        )
    _place_unembedded(voices, labels, minimum or 1, maximum)
    return labels


def _place_unembedded(
    voices: Sequence[LocalVoice], labels: Labels, minimum: int, maximum: int | None
) -> None:
    """Give the voices without an embedding a group, the longest first."""
    loose = [row for row, voice in enumerate(voices) if voice.embedding is None]
    search = NearestVoice(voices)
    for row in sorted(loose, key=lambda row: (-voices[row].talk_s, row)):
        groups = int(labels.max(initial=-1)) + 1
        nearest = search.group(labels, row)
        wanted = voices[row].talk_s >= MIN_VOICE_S or groups < minimum
        allowed = maximum is None or groups < maximum
        labels[row] = groups if nearest is None or (wanted and allowed) else nearest


def _in_order_of_first_speech(
    voices: Sequence[LocalVoice], groups: Labels, moves: Sequence[Move]
) -> tuple[Labels, tuple[Move, ...]]:
    """The same groups, numbered from 0 by their first turn."""
    taken = {(move.row, move.turn): move.group for move in moves}
    first: dict[int, tuple[TimeSpan, int]] = {}
    for row, voice in enumerate(voices):
        for at, turn in enumerate(voice.turns):
            group = taken.get((row, at), int(groups[row]))
            first[group] = min(first.get(group, (turn, row)), (turn, row))
    number = {group: at for at, group in enumerate(sorted(first, key=lambda group: first[group]))}
    return (
        np.array([number[int(group)] for group in groups]),
        tuple(replace(move, group=number[move.group]) for move in moves),
    )


def _turns(
    voices: Sequence[LocalVoice], groups: Labels, moves: Sequence[Move], names: Sequence[str]
) -> tuple[SpeakerTurn, ...]:
    """Turns of all speakers in time order; those of one speaker that touch are one."""
    taken = {(move.row, move.turn): move.group for move in moves}
    spans: dict[str, list[TimeSpan]] = defaultdict(list)
    for row, (voice, group) in enumerate(zip(voices, groups, strict=True)):
        for at, turn in enumerate(voice.turns):
            spans[names[taken.get((row, at), int(group))]].append(turn)
    return tuple(sorted(SpeakerTurn(span, name) for name in names for span in _joined(spans[name])))


def _joined(spans: Sequence[TimeSpan]) -> list[TimeSpan]:
    joined: list[TimeSpan] = []
    for span in sorted(spans):
        if joined and span.start_s <= joined[-1].end_s:
            joined[-1] = TimeSpan(joined[-1].start_s, max(joined[-1].end_s, span.end_s))
        else:
            joined.append(span)
    return joined


def _hardly_heard(turns: Sequence[SpeakerTurn]) -> tuple[str, ...]:
    """Name speakers who may be a cough or a slip of the segmentation; they are not merged."""
    talk_s: dict[str, float] = defaultdict(float)
    for turn in turns:
        talk_s[turn.speaker] += turn.span.duration_s
    if max(talk_s.values()) < LONG_TALK_S:
        return ()
    return tuple(
        f"{speaker} talks for {seconds:.1f} s in all and may be no person"
        for speaker, seconds in sorted(talk_s.items())
        if seconds < GHOST_TALK_S
    )


def _alike(decisions: Sequence[StitchDecision], hints: SpeakerHints) -> tuple[str, ...]:
    """A lower bound may split one voice; say which speakers sound the same."""
    if hints.exact is None and hints.minimum is None:
        return ()
    pairs: dict[tuple[str, str], float] = {}
    for decision in decisions:
        other, similarity = decision.runner_up, decision.runner_up_similarity
        if other is not None and similarity is not None and similarity >= ALIKE_COSINE:
            pair = (min(decision.speaker, other), max(decision.speaker, other))
            pairs[pair] = max(similarity, pairs.get(pair, similarity))
    return tuple(
        f"{one} and {other} sound like one person (similarity {similarity:.2f}); "
        "fewer speakers may fit better"
        for (one, other), similarity in sorted(pairs.items())
    )


def _shortfall(found: int, hints: SpeakerHints) -> tuple[str, ...]:
    """One line if the number of speakers is not what the user asked for."""
    minimum = hints.minimum if hints.exact is None else hints.exact
    maximum = hints.maximum if hints.exact is None else hints.exact
    asked = "--speakers" if hints.exact is not None else None
    if minimum is not None and found < minimum:
        return (f"{asked or '--min-speakers'} {minimum}: only {found} different voices were found",)
    if maximum is not None and found > maximum:
        return (
            f"{asked or '--max-speakers'} {maximum}: {found} speakers are kept, because that "
            "many talk in one chunk or no two of them can be joined",
        )
    return ()
