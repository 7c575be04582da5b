"""Plain text for reading: one paragraph per speaker and stretch of speech."""

from murmur_cli.types import Transcript, join_words
from murmur_cli.writers.clock import span_ms, whole_clock
from murmur_cli.writers.field import one_line
from murmur_cli.writers.speaker_run import SpeakerRun, speaker_runs

# A new paragraph, with its time, after a pause this long or once one has grown this long.
_PARAGRAPH_PAUSE_S = 5.0
_PARAGRAPH_S = 60.0


def render(transcript: Transcript) -> str:
    """`[00:00:12] SPEAKER_00: text`, paragraphs with a blank line between; empty without words.

    Times are cut to whole seconds, so that a paragraph never seems to start after its words.
    """
    runs = speaker_runs(transcript.segments, _PARAGRAPH_PAUSE_S, _PARAGRAPH_S)
    return "\n".join(_paragraph(run) for run in runs)


def _paragraph(run: SpeakerRun) -> str:
    start_ms, _ = span_ms(run.span)
    speaker = f"{run.speaker}: " if run.speaker is not None else ""
    return f"[{whole_clock(start_ms // 1000)}] {one_line(speaker + join_words(run.words))}\n"
