"""Normalised text of one side of a session, as the word metrics take it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from murmur_cli.scoring.material import Utterance
from murmur_cli.scoring.normalizers.base import Normalizer
from murmur_cli.types import TimeSpan
from murmur_cli.writers.field import UNKNOWN_SPEAKER

_SHORTEST_S = 0.01
"""MeetEval wants an end after the start."""


@dataclass(frozen=True, slots=True)
class SpokenWords:
    """Words of one speaker in one stretch, at least one."""

    span: TimeSpan
    speaker: str
    words: tuple[str, ...]


Stream = tuple[SpokenWords, ...]
"""Of one speaker or of all, in order of start."""


def normalised_stream(utterances: Iterable[Utterance], normalizer: Normalizer) -> Stream:
    """The utterances that have words after normalisation. Those without a speaker share one,
    'unknown'."""
    found = []
    for one in utterances:
        words = tuple(normalizer.words(one.text))
        if words:
            end_s = max(one.span.end_s, one.span.start_s + _SHORTEST_S)
            span = TimeSpan(one.span.start_s, end_s)
            found.append(SpokenWords(span, one.speaker or UNKNOWN_SPEAKER, words))
    return tuple(sorted(found, key=lambda spoken: spoken.span.start_s))


def by_speaker(stream: Stream) -> dict[str, Stream]:
    """The stream of each speaker, in order of first words."""
    speakers: dict[str, list[SpokenWords]] = {}
    for spoken in stream:
        speakers.setdefault(spoken.speaker, []).append(spoken)
    return {speaker: tuple(spoken) for speaker, spoken in speakers.items()}


def words_of(stream: Stream) -> list[str]:
    """All words in order."""
    return [word for spoken in stream for word in spoken.words]


def seglst(stream: Sequence[SpokenWords]) -> Any:
    """MeetEval's SegLST of it."""
    from meeteval.io import SegLST

    return SegLST(
        [
            {
                "session_id": "s",
                "speaker": spoken.speaker,
                "start_time": spoken.span.start_s,
                "end_time": spoken.span.end_s,
                "words": " ".join(spoken.words),
            }
            for spoken in stream
        ]
    )
