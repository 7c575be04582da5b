"""Names for the speakers of a recording, from voices that are known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from murmur_cli.errors import UsageError
from murmur_cli.types import (
    ChunkDiarization,
    Embedding,
    KnownVoice,
    SpeakerTimeline,
    SpeakerTurn,
    StitchDecision,
    VoiceMatch,
)


@dataclass(frozen=True, slots=True)
class SpeakerVoice:
    """How a speaker of a recording sounds; `embedding` has unit length, None if unknown."""

    label: str
    clean_s: float
    embedding: Embedding | None


def speaker_voices(
    timeline: SpeakerTimeline, chunks: Sequence[ChunkDiarization]
) -> tuple[SpeakerVoice, ...]:
    """The voice of each speaker: the mean of its local voices, weighted by clean seconds."""
    label = {
        (decision.chunk_index, decision.local_speaker): decision.speaker
        for decision in timeline.decisions
    }
    clean_s: dict[str, float] = defaultdict(float)
    sums: dict[str, Embedding] = {}
    for chunk in chunks:
        for voice in chunk.speakers:
            speaker = label.get((voice.chunk_index, voice.local_speaker))
            vector = _unit(voice.embedding)
            if speaker is not None and vector is not None and voice.clean_s > 0:
                clean_s[speaker] += voice.clean_s
                weighted = np.float32(voice.clean_s) * vector
                sums[speaker] = sums[speaker] + weighted if speaker in sums else weighted
    return tuple(
        SpeakerVoice(speaker, clean_s[speaker], _unit(sums.get(speaker)))
        for speaker in timeline.speakers
    )


def name_speakers(
    timeline: SpeakerTimeline,
    chunks: Sequence[ChunkDiarization],
    known: Sequence[KnownVoice],
    threshold: float,
) -> tuple[SpeakerTimeline, tuple[VoiceMatch, ...]]:
    """The timeline with the names of known voices, and why each speaker has one or none.

    Speakers and voices are paired one to one, the most similar first, down to the threshold.
    Who has no voice of his own keeps his label. That a second speaker sounds like a voice that
    is taken is said in the warnings.

    Raises:
        UsageError: the voices are of another length than those of the recording.
    """
    voices = speaker_voices(timeline, chunks)
    _check_lengths(voices, known)
    cosines = [_cosines(voice, known) for voice in voices]
    named = _pairs(cosines, threshold)
    matches = tuple(
        _match(voice, of_voice, known, named.get(row))
        for row, (voice, of_voice) in enumerate(zip(voices, cosines, strict=True))
    )
    name = {match.label: match.name for match in matches if match.name is not None}
    warnings = tuple(
        f"{match.label} sounds like {match.best}, too (similarity {match.similarity:.2f});"
        " the name went to who sounds more alike"
        for match in matches
        if match.name is None and match.similarity is not None and match.similarity >= threshold
    )
    renamed = _renamed(timeline, name)
    return replace(renamed, warnings=renamed.warnings + warnings), matches


def _check_lengths(voices: Sequence[SpeakerVoice], known: Sequence[KnownVoice]) -> None:
    found = {voice.embedding.size for voice in voices if voice.embedding is not None}
    for one in known:
        if found - {one.embedding.size}:
            raise UsageError(
                f"--enroll: the voice of {one.name} has {one.embedding.size} numbers, those of this"
                f" run have {max(found)}; the file of voices is damaged: enrol the clips again"
            )


def _unit(vector: Embedding | None) -> Embedding | None:
    if vector is None:
        return None
    norm = float(np.linalg.norm(vector))
    if not np.isfinite(norm) or norm < 1e-9:
        return None
    unit: Embedding = vector / np.float32(norm)
    return unit


def _cosines(voice: SpeakerVoice, known: Sequence[KnownVoice]) -> list[float]:
    """Similarity to each known voice; nothing if the speaker has no embedding."""
    if voice.embedding is None:
        return []
    return [float(np.clip(voice.embedding @ one.embedding, -1.0, 1.0)) for one in known]


def _pairs(cosines: Sequence[Sequence[float]], threshold: float) -> dict[int, int]:
    """Row of the speaker -> index of the voice."""
    ranked = sorted(
        (-cosine, row, at)
        for row, of_row in enumerate(cosines)
        for at, cosine in enumerate(of_row)
        if cosine >= threshold
    )
    paired: dict[int, int] = {}
    for _, row, at in ranked:
        if row not in paired and at not in paired.values():
            paired[row] = at
    return paired


def _match(
    voice: SpeakerVoice, cosines: Sequence[float], known: Sequence[KnownVoice], named: int | None
) -> VoiceMatch:
    order = sorted(range(len(cosines)), key=lambda at: (-cosines[at], at))
    if named is not None:
        # Its own name first, even where a better one went to somebody else.
        order = [named, *(at for at in order if at != named)]
    best, second = (*order[:2], None, None)[:2]
    return VoiceMatch(
        label=voice.label,
        name=None if named is None else known[named].name,
        clean_s=voice.clean_s,
        best=None if best is None else known[best].name,
        similarity=None if best is None else cosines[best],
        runner_up=None if second is None else known[second].name,
        runner_up_similarity=None if second is None else cosines[second],
    )


def _renamed(timeline: SpeakerTimeline, name: dict[str, str]) -> SpeakerTimeline:
    def called(label: str) -> str:
        return name.get(label, label)

    def decided(decision: StitchDecision) -> StitchDecision:
        other = decision.runner_up
        return replace(
            decision,
            speaker=called(decision.speaker),
            runner_up=None if other is None else called(other),
            moved=tuple(replace(turn, speaker=called(turn.speaker)) for turn in decision.moved),
        )

    return replace(
        timeline,
        turns=tuple(
            sorted(SpeakerTurn(turn.span, called(turn.speaker)) for turn in timeline.turns)
        ),
        speakers=tuple(map(called, timeline.speakers)),
        decisions=tuple(map(decided, timeline.decisions)),
    )
