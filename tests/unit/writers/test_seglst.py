import json

from murmur_cli.writers import seglst
from support.factories import make_segment, make_transcript


def test_render_when_two_segments_then_two_entries():
    transcript = make_transcript(
        [make_segment("hi you", 0.5, 1.5, "SPEAKER_00"), make_segment("ok", 2, 2.5)],
        session_id="a b",
    )
    assert json.loads(seglst.render(transcript)) == [
        {
            "session_id": "a b",
            "speaker": "SPEAKER_00",
            "start_time": 0.5,
            "end_time": 1.5,
            "words": "hi you",
        },
        {
            "session_id": "a b",
            "speaker": "unknown",
            "start_time": 2.0,
            "end_time": 2.5,
            "words": "ok",
        },
    ]


def test_render_when_no_words_then_one_entry_without_words():
    entries = json.loads(seglst.render(make_transcript(duration_s=3.0)))
    assert [(entry["words"], entry["end_time"]) for entry in entries] == [("", 3.0)]
