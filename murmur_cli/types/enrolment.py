"""Voices that are known by name, and what became of them in a recording."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from murmur_cli.types.model_identity import ModelIdentity
from murmur_cli.types.speakers import Embedding


@dataclass(frozen=True, slots=True)
class VoiceClip:
    """What one clip tells of a voice.

    file: its name, without folder. sha256: of its bytes, hex. clean_s: seconds of clear speech
    that `embedding`, of unit length, was taken from.
    """

    file: str
    sha256: str
    clean_s: float
    embedding: Embedding


@dataclass(frozen=True, slots=True)
class KnownVoice:
    """A person by name, from one clip or more of equal embedding model."""

    name: str
    clips: tuple[VoiceClip, ...]

    @property
    def clean_s(self) -> float:
        """Seconds of clear speech in all clips."""
        return sum(clip.clean_s for clip in self.clips)

    @property
    def embedding(self) -> Embedding:
        """Mean of the clips, weighted by their clear speech; unit length."""
        total = sum(
            (clip.clean_s * clip.embedding.astype(np.float64) for clip in self.clips),
            np.zeros(self.clips[0].embedding.size),
        )
        unit: Embedding = (total / max(float(np.linalg.norm(total)), 1e-12)).astype(np.float32)
        return unit


@dataclass(frozen=True, slots=True)
class KnownVoices:
    """Voices in order of name, and the weights that their embeddings come from."""

    model: ModelIdentity
    voices: tuple[KnownVoice, ...]


@dataclass(frozen=True, slots=True)
class VoiceMatch:
    """Why a speaker got a name, or none. Similarities are cosines in [-1, 1].

    label: that of stitching. name: None for a speaker who is nobody known. best, runner_up: the
    known voices most similar, with their similarity; None if there is nothing to compare.
    """

    label: str
    name: str | None
    clean_s: float
    best: str | None
    similarity: float | None
    runner_up: str | None
    runner_up_similarity: float | None


@dataclass(frozen=True, slots=True)
class Enrolment:
    """The known voices of a run, the least similarity for a name, and what came of it."""

    known: KnownVoices
    threshold: float
    matches: tuple[VoiceMatch, ...]
