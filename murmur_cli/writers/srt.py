"""SRT (SubRip): numbered cues, a comma before the milliseconds, a blank line after each cue."""

from murmur_cli.types import Transcript
from murmur_cli.writers.clock import clock
from murmur_cli.writers.cue_layout import lay_out


def render(transcript: Transcript) -> str:
    """The transcript as cues numbered from 1; empty without words."""
    cues = lay_out(transcript.segments, transcript.facts.duration_s)
    return "".join(
        f"{number}\n{clock(cue.start_ms, ',')} --> {clock(cue.end_ms, ',')}\n"
        + "\n".join(cue.lines)
        + "\n\n"
        for number, cue in enumerate(cues, start=1)
    )
