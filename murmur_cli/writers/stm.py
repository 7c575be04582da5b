"""STM: one line per segment, `session channel speaker start end text`.

Format: OpenASR20 evaluation plan, NIST. A recording without words gets one line without text:
scorers take an absent session for a missing file, an empty one for words not found.
"""

from murmur_cli.types import Transcript
from murmur_cli.writers.clock import decimal_seconds
from murmur_cli.writers.field import UNKNOWN_SPEAKER, escape_field
from murmur_cli.writers.scored_row import scored_rows


def render(transcript: Transcript) -> str:
    """The segments in time order."""
    session = escape_field(transcript.session_id)
    return "".join(
        f"{session} 1 {escape_field(row.speaker or UNKNOWN_SPEAKER)}"
        f" {decimal_seconds(row.start_ms)} {decimal_seconds(row.end_ms)} {row.text}".rstrip()
        + "\n"
        for row in scored_rows(transcript)
    )
