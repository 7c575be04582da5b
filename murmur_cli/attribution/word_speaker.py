"""The speaker of each word, from the turns around it and the words beside it."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.attribution.speaker_index import SpeakerIndex
from murmur_cli.types import TimeSpan

MAX_DISTANCE_S = 10.0
"""Farthest turn that a word outside every turn may belong to. Detectors of voices miss short
turns and soft ends, and the nearest voice is then the likeliest; after so long a silence
nothing tells who speaks, and the speaker stays unknown."""

TIE_S = 0.02
"""Overlaps (or distances) this near are equal: one frame of the diarizer, and the grid of word
times."""

_NEIGHBOUR_S = 1.0
"""A word decides for the next only across a pause shorter than this."""


def word_speakers(spans: Sequence[TimeSpan], index: SpeakerIndex) -> list[str | None]:
    """One speaker per word, None where no turn is near.

    A word goes to the speaker who talks most during it. Where several talk equally long (speech
    overlaps), it keeps the speaker of the word before, else that of the word after, else the
    first by name: a change inside an overlap needs evidence.
    """
    candidates = [_candidates(span, index) for span in spans]
    speakers: list[str | None] = [names[0] if len(names) == 1 else None for names in candidates]
    to_the_end, to_the_start = range(1, len(spans)), range(len(spans) - 2, -1, -1)
    for step, order in ((-1, to_the_end), (1, to_the_start)):
        for at in order:
            if speakers[at] is None:
                speakers[at] = _handed_on(speakers, candidates, spans, at + step, at)
    for at, names in enumerate(candidates):
        if speakers[at] is None and names:
            before = _handed_on(speakers, candidates, spans, at - 1, at) if at else None
            speakers[at] = before or names[0]
    return speakers


def _candidates(span: TimeSpan, index: SpeakerIndex) -> list[str]:
    overlaps_s = index.overlaps_s(span)
    if overlaps_s:
        most_s = max(overlaps_s.values())
        return [name for name, overlap_s in overlaps_s.items() if overlap_s >= most_s - TIE_S]
    gaps_s = index.gaps_s(span)
    least_s = min(gaps_s.values(), default=float("inf"))
    if least_s > MAX_DISTANCE_S:
        return []
    return [name for name, gap_s in gaps_s.items() if gap_s <= least_s + TIE_S]


def _handed_on(
    speakers: Sequence[str | None],
    candidates: Sequence[Sequence[str]],
    spans: Sequence[TimeSpan],
    known: int,
    asked: int,
) -> str | None:
    """The speaker of the word `known`, if the word `asked` beside it may be theirs too."""
    near = spans[known].gap_s(spans[asked]) < _NEIGHBOUR_S
    return speakers[known] if near and speakers[known] in candidates[asked] else None
