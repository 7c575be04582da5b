"""What the formats for scoring (STM, SegLST) tell of a segment."""

from dataclasses import dataclass

from murmur_cli.timebase import to_milliseconds
from murmur_cli.types import Transcript
from murmur_cli.writers.clock import span_ms
from murmur_cli.writers.field import one_line


@dataclass(frozen=True, slots=True)
class ScoredRow:
    """One segment: whole milliseconds, its speaker if known, its text on one line."""

    start_ms: int
    end_ms: int
    speaker: str | None
    text: str


def scored_rows(transcript: Transcript) -> list[ScoredRow]:
    """The segments in order; a recording without words gives one row without text.

    Scorers take an absent session for a missing file, an empty one for words not found.
    """
    if not transcript.segments:
        return [ScoredRow(0, max(1, to_milliseconds(transcript.facts.duration_s)), None, "")]
    return [
        ScoredRow(*span_ms(segment.span), segment.speaker, one_line(segment.text))
        for segment in transcript.segments
    ]
