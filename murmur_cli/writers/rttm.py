"""RTTM: one line per speaker turn, ten fields.

Format: https://github.com/nryant/dscore#rttm (after NIST RT-09, appendix A).
"""

from murmur_cli.types import Transcript
from murmur_cli.writers.clock import decimal_seconds, span_ms
from murmur_cli.writers.field import escape_field


def render(transcript: Transcript) -> str:
    """The turns, sorted by onset; nothing if there are none."""
    session = escape_field(transcript.session_id)
    rows = sorted((*span_ms(turn.span), escape_field(turn.speaker)) for turn in transcript.turns)
    return "".join(
        f"SPEAKER {session} 1 {decimal_seconds(start_ms)} {decimal_seconds(end_ms - start_ms)}"
        f" <NA> <NA> {speaker} <NA> <NA>\n"
        for start_ms, end_ms, speaker in rows
    )
