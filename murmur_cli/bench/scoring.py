"""Errors against a reference: words (WER), words with speakers (cpWER), time (DER).

Both sides are brought to the same spelling first: lower case, no punctuation, no fillers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.bench.bench_audio import Spoken
from murmur_cli.scoring.counts import WordCounts
from murmur_cli.scoring.edit_distance import edits
from murmur_cli.scoring.meeteval_log import quiet_meeteval
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.scoring.speaker_pairing import cp_score, tcp_score
from murmur_cli.scoring.streams import SpokenWords, Stream
from murmur_cli.scoring.time_errors import score_times
from murmur_cli.types import SpeakerTurn, TimeSpan

FILLERS = ("uh", "um", "mm", "hmm", "mhm", "ah", "oh", "eh", "er", "erm", "huh")
NORMALISER = "lower case, punctuation and fillers removed"
COLLAR_S = 5.0

_MARKS = re.compile(r"[^\w\s']")
_FILLERS = re.compile(rf"\b(?:{'|'.join(map(re.escape, FILLERS))})\b")


@dataclass(frozen=True, slots=True)
class Errors:
    """Errors and what they are counted against, so that recordings can be pooled."""

    errors: float = 0.0
    length: float = 0.0

    def __add__(self, other: Errors) -> Errors:
        return Errors(self.errors + other.errors, self.length + other.length)

    @property
    def percent(self) -> float | None:
        """Rate; None if there is nothing to count against."""
        return 100 * self.errors / self.length if self.length else None


def normalised(text: str) -> str:
    """Words of a text in the spelling that is compared."""
    bare = _MARKS.sub(" ", text.lower())
    return " ".join(_FILLERS.sub(" ", bare).split())


def word_errors(reference: Sequence[Spoken], found: Sequence[Spoken]) -> Errors:
    """Edit distance of all words in order of time, whoever says them."""
    return _word_errors(edits(_stream(reference), _stream(found)))


def speaker_word_errors(reference: Sequence[Spoken], found: Sequence[Spoken]) -> Errors:
    """Edit distance of each speaker's words under the best pairing of speakers, of any number."""
    with quiet_meeteval():
        return _word_errors(cp_score(_stream(reference), _stream(found)).counts)


def timed_speaker_word_errors(reference: Sequence[Spoken], found: Sequence[Spoken]) -> Errors:
    """The same where only words within `COLLAR_S` of each other may stand for each other."""
    with quiet_meeteval():
        return _word_errors(tcp_score(_stream(reference), _stream(found), COLLAR_S).counts)


@dataclass(frozen=True, slots=True)
class SpeakerTimeErrors:
    """Of one recording: DER and JER in seconds or speakers that can be pooled, and how far the
    number of speakers is off, with its sign."""

    time: Errors
    jaccard: Errors
    count: int


def time_errors(
    reference: Sequence[Spoken], found: Sequence[Spoken], duration_s: float
) -> SpeakerTimeErrors:
    """Speaker time missed, invented or confused from 0 to `duration_s`; no collar, overlaps
    count."""
    sides = _turns(reference), _turns(found)
    score = score_times(*sides, [TimeSpan(0.0, duration_s)], ScoreSettings())
    here, there = ({turn.speaker for turn in turns} for turns in sides)
    return SpeakerTimeErrors(
        Errors(score.diarization.errors_s, score.diarization.total_s),
        Errors(score.jaccard.errors, score.jaccard.speakers),
        len(there) - len(here),
    )


def with_speakers(words: Sequence[Spoken], turns: Sequence[Spoken]) -> tuple[Spoken, ...]:
    """Words given to the turn that they meet longest, else to the nearest: for a peer whose
    words know no speakers."""
    if not turns:
        return tuple(words)

    def fit(word: Spoken, turn: Spoken) -> tuple[float, float]:
        overlap_s = min(word.end_s, turn.end_s) - max(word.start_s, turn.start_s)
        return max(0.0, overlap_s), min(0.0, overlap_s)

    return tuple(
        Spoken(
            word.start_s,
            word.end_s,
            max(turns, key=lambda turn: fit(word, turn)).speaker,
            word.text,
        )
        for word in words
    )


def _word_errors(counts: WordCounts) -> Errors:
    return Errors(counts.errors, counts.length)


def _stream(spoken: Sequence[Spoken]) -> Stream:
    """What has words after normalisation, in order of start."""
    found = [
        SpokenWords(_span(one), one.speaker, words)
        for one in spoken
        if (words := tuple(normalised(one.text).split()))
    ]
    return tuple(sorted(found, key=lambda one: one.span.start_s))


def _turns(spoken: Sequence[Spoken]) -> list[SpeakerTurn]:
    return [SpeakerTurn(_span(one), one.speaker) for one in spoken]


def _span(spoken: Spoken) -> TimeSpan:
    return TimeSpan(spoken.start_s, max(spoken.start_s, spoken.end_s))
