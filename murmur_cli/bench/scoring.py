"""Errors against a reference: words (WER), words with speakers (cpWER), time (DER).

Both sides are brought to the same spelling first: lower case, no punctuation, no fillers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.bench.bench_audio import Spoken

FILLERS = ("uh", "um", "mm", "hmm", "mhm", "ah", "oh", "eh", "er", "erm", "huh")
MOST_SPEAKERS = 20
"""More than these MeetEval refuses."""

NORMALISER = "lower case, punctuation and fillers removed"

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
    """Edit distance of all words in order of time, whoever says them (MeetEval)."""
    from meeteval.wer.wer.siso import siso_word_error_rate

    rate = siso_word_error_rate(_stream(reference), _stream(found))
    return Errors(rate.errors, rate.length)


def speaker_word_errors(reference: Sequence[Spoken], found: Sequence[Spoken]) -> Errors:
    """Edit distance of each speaker's words under the best pairing of speakers (MeetEval).

    Not counted (no errors of no words) with more speakers than MeetEval takes.
    """
    from meeteval.wer.wer.cp import cp_word_error_rate

    streams, found_streams = _streams(reference), _streams(found)
    if max(len(streams), len(found_streams)) > MOST_SPEAKERS:
        return Errors()
    rate = cp_word_error_rate(streams, found_streams, reference_sort=False, hypothesis_sort=False)
    return Errors(rate.errors, rate.length)


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
    """Speaker time missed, invented or confused; no collar, overlaps count (pyannote.metrics)."""
    from pyannote.core import Annotation, Segment, Timeline
    from pyannote.metrics.diarization import DiarizationErrorRate, JaccardErrorRate

    def annotation(turns: Sequence[Spoken]) -> Annotation:
        made = Annotation()
        for number, turn in enumerate(turns):
            made[Segment(turn.start_s, turn.end_s), number] = turn.speaker
        return made

    sides = annotation(reference), annotation(found)
    whole = Timeline([Segment(0, duration_s)])
    parts = DiarizationErrorRate(collar=0.0, skip_overlap=False).compute_components(
        *sides, uem=whole
    )
    jaccard = JaccardErrorRate(collar=0.0, skip_overlap=False).compute_components(*sides, uem=whole)
    wrong = parts["missed detection"] + parts["false alarm"] + parts["confusion"]
    return SpeakerTimeErrors(
        Errors(wrong, parts["total"]),
        Errors(jaccard["speaker error"], jaccard["speaker count"]),
        len(sides[1].labels()) - len(sides[0].labels()),
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


def _stream(spoken: Sequence[Spoken]) -> str:
    ordered = sorted(spoken, key=lambda one: one.start_s)
    return " ".join(filter(None, (normalised(one.text) for one in ordered)))


def _streams(spoken: Sequence[Spoken]) -> dict[str, str]:
    speakers = dict.fromkeys(one.speaker for one in spoken)
    return {
        speaker: _stream([one for one in spoken if one.speaker == speaker]) for speaker in speakers
    }
