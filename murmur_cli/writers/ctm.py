"""CTM: one line per word, `session channel start duration word [confidence]`; no speakers.

Format: OpenASR20 evaluation plan, NIST.
"""

import math

from murmur_cli.types import Transcript, Word
from murmur_cli.writers.clock import decimal_seconds, span_ms
from murmur_cli.writers.field import escape_field


def render(transcript: Transcript) -> str:
    """The words, sorted by start; words that start together stay in the order of the text."""
    session = escape_field(transcript.session_id)
    timed = [(*span_ms(word.span), word) for word in transcript.words if word.text.strip()]
    timed.sort(key=lambda row: row[0])
    return "".join(
        f"{session} 1 {decimal_seconds(start_ms)} {decimal_seconds(end_ms - start_ms)}"
        f" {escape_field(word.text.strip())}{_confidence(word)}\n"
        for start_ms, end_ms, word in timed
    )


def _confidence(word: Word) -> str:
    if word.probability is None or not math.isfinite(word.probability):
        return ""
    return f" {word.probability:.3f}"
