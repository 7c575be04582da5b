"""What a word metric gives for one session."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.scoring.counts import WordCounts


@dataclass(frozen=True, slots=True)
class SpeakerScore:
    """Words of a reference speaker against those of the hypothesis' speaker who was paired with
    it; None on the side that has nobody left."""

    reference: str | None
    hypothesis: str | None
    counts: WordCounts


@dataclass(frozen=True, slots=True)
class WordScore:
    """Counts, how they were found, and those of each pair of speakers if the metric has pairs."""

    counts: WordCounts
    method: str
    speakers: tuple[SpeakerScore, ...] = ()
