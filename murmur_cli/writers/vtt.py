"""WebVTT: cues with a dot before the milliseconds; `&`, `<` and `>` are escaped.

Format: https://www.w3.org/TR/webvtt1/. Hours are always written.
"""

from murmur_cli.types import Transcript
from murmur_cli.writers.clock import clock
from murmur_cli.writers.cue_layout import lay_out


def render(transcript: Transcript) -> str:
    """The header and the transcript as cues; the header alone without words."""
    cues = lay_out(transcript.segments, transcript.facts.duration_s)
    return "WEBVTT\n\n" + "".join(
        f"{clock(cue.start_ms, '.')} --> {clock(cue.end_ms, '.')}\n"
        + "\n".join(map(_escape, cue.lines))
        + "\n\n"
        for cue in cues
    )


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
