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


def word_speakers(
    spans: Sequence[TimeSpan], opens_segment: Sequence[bool], index: SpeakerIndex
) -> list[str | None]:
    """One speaker per word, None where no turn is near.

    A word goes to the speaker who talks most during it. Where several talk equally long (speech
    overlaps) a change needs evidence: the word follows the words before it in its segment, else
    those after it, else the words of the segment before, else it takes the first by name.
    `opens_segment` marks words with which the recogniser began a segment.
    """
    candidates = [_candidates(span, index) for span in spans]
    speakers: list[str | None] = [names[0] if len(names) == 1 else None for names in candidates]

    def follow(known: int, asked: int) -> None:
        near = spans[known].gap_s(spans[asked]) < _NEIGHBOUR_S
        if speakers[asked] is None and near and speakers[known] in candidates[asked]:
            speakers[asked] = speakers[known]

    inside = [at for at in range(1, len(spans)) if not opens_segment[at]]
    for at in inside:
        follow(at - 1, at)
    for at in reversed(inside):
        follow(at, at - 1)
    for at, names in enumerate(candidates):
        if at:
            follow(at - 1, at)
        if speakers[at] is None and names:
            speakers[at] = names[0]
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
