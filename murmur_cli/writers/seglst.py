"""SegLST: a JSON list of segments, as MeetEval and the CHiME challenges read it."""

import json

from murmur_cli.types import Transcript
from murmur_cli.writers.field import UNKNOWN_SPEAKER
from murmur_cli.writers.scored_row import scored_rows


def render(transcript: Transcript) -> str:
    """The segments in time order; a recording without words gives one entry without words."""
    entries = [
        {
            "session_id": transcript.session_id,
            "speaker": row.speaker or UNKNOWN_SPEAKER,
            "start_time": row.start_ms / 1000,
            "end_time": row.end_ms / 1000,
            "words": row.text,
        }
        for row in scored_rows(transcript)
    ]
    return json.dumps(entries, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
