"""What each format says, line by line; ids and names survive as text."""

from __future__ import annotations

import json
import re

import pytest

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats import ctm, rttm, seglst, stm, subtitles, transcript_json, uem
from murmur_cli.scoring.material import Utterance
from murmur_cli.types import SpeakerTurn, TimeSpan

IDS = ["2024.05.01.call", "007", "1505728826.11848331", "1e5", "Jane Roe", "a;b", "会议 é", "100%d"]


def test_stm_when_it_has_labels_and_comments_then_text_alone_is_left() -> None:
    content = stm.read(";; note\ns 1 A 0.5 2 <o,f0,male> Hello there\n\ns 1 B 2 3.25 yes\n", "file")
    assert content.utterances == {
        "s": (
            Utterance(TimeSpan(0.5, 2.0), "A", "Hello there"),
            Utterance(TimeSpan(2.0, 3.25), "B", "yes"),
        )
    }


def test_stm_when_a_line_has_no_text_then_the_session_is_there_without_words() -> None:
    assert stm.read("s 1 unknown 0.000 30.000\n", "file").utterances == {"s": ()}


def test_stm_when_the_file_is_empty_then_its_name_is_a_session_without_words() -> None:
    assert stm.read("", "talk").utterances == {"talk": ()}


def test_stm_when_a_stretch_is_to_be_ignored_then_it_is_no_text() -> None:
    content = stm.read(
        "s 1 inter_segment_gap 0 4 <o,,unknown> ignore_time_segment_in_scoring\ns 1 A 4 5 yes\n", ""
    )
    assert content.ignored == {"s": (TimeSpan(0.0, 4.0),)}
    assert [one.text for one in content.utterances["s"]] == ["yes"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("s 1 A 0", "line 1 has 4 fields"),
        ("s 1 A zero 1 x", "line 1 time 'zero' is no number"),
        ("s 1 A 0 nan x", "line 1 time 'nan' is no number"),
        ("s 1 A -0.5 1 x", "line 1 starts at -0.5 s"),
        ("s 1 A 2 1 x", "line 1 ends at 1 s, before its start"),
    ],
)
def test_stm_when_a_line_is_wrong_then_its_number_and_value_are_told(
    line: str, reason: str
) -> None:
    with pytest.raises(RecordingError, match=re.escape(reason)):
        stm.read(line, "file")


def test_ctm_when_read_then_every_word_is_an_utterance_without_speaker() -> None:
    content = ctm.read("s 1 0.10 0.40 so 0.93\ns 1 0.50 0.25 yes\n", "file")
    assert content.utterances == {
        "s": (
            Utterance(TimeSpan(0.1, 0.5), None, "so"),
            Utterance(TimeSpan(0.5, 0.75), None, "yes"),
        )
    }
    assert not content.segmented


def test_ctm_when_a_session_has_two_channels_then_each_is_a_speaker() -> None:
    content = ctm.read("s A 0 1 so\ns B 0 1 yes\nt A 0 1 no\n", "file")
    assert [one.speaker for one in content.utterances["s"]] == ["channel A", "channel B"]  # type: ignore[index]
    assert [one.speaker for one in content.utterances["t"]] == [None]  # type: ignore[index]


@pytest.mark.parametrize("line", ["s 1 0 1", "s 1 0 -1 word", "s 1 0 1 <ALT_BEGIN>"])
def test_ctm_when_a_line_is_wrong_then_it_is_refused(line: str) -> None:
    with pytest.raises(RecordingError, match="line 1"):
        ctm.read(line, "file")


def test_rttm_when_it_has_other_types_and_nine_fields_then_turns_alone_are_read() -> None:
    text = (
        "SPKR-INFO s 1 <NA> <NA> <NA> adult A <NA>\n"
        "SPEAKER s 1 0.5 1.5 <NA> <NA> A <NA>\n"
        "SPEAKER s 1 3 0 <NA> <NA> A <NA> <NA>\n"
    )
    assert rttm.read(text, "file").turns == {"s": (SpeakerTurn(TimeSpan(0.5, 2.0), "A"),)}


def test_rttm_when_the_file_is_empty_then_nobody_speaks_in_it() -> None:
    assert rttm.read("", "talk").turns == {"talk": ()}


@pytest.mark.parametrize(
    "line",
    [
        "SPEAKER s 1 -1 2 <NA> <NA> A <NA> <NA>",
        "SPEAKER s 1 1 -2 <NA> <NA> A <NA> <NA>",
        "SPEAKER s 1 1 2 <NA> <NA>",
        "hello",
    ],
)
def test_rttm_when_a_line_is_wrong_then_it_is_refused(line: str) -> None:
    with pytest.raises(RecordingError, match="line 1"):
        rttm.read(line, "file")


def test_uem_when_a_session_has_two_stretches_then_both_in_order() -> None:
    assert uem.read("a.b 1 10 20\na.b 1 0 5\n") == {
        "a.b": (TimeSpan(0.0, 5.0), TimeSpan(10.0, 20.0))
    }


def test_seglst_when_an_id_looks_like_a_number_then_it_keeps_its_digits() -> None:
    content = seglst.read(
        '[{"session_id": 1505728826.118483310, "speaker": 0, "start_time": "1", "end_time": 2.5,'
        ' "words": "so"}, {"session_id": "007", "start_time": 0, "end_time": 1, "words": " "}]',
        "file",
    )
    assert content.utterances == {
        "1505728826.118483310": (Utterance(TimeSpan(1.0, 2.5), "0", "so"),),
        "007": (),
    }


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"words": "x"}]',
        '[{"words": "x", "start_time": NaN, "end_time": 1}]',
        "[",
        "",
    ],
)
def test_seglst_when_it_is_none_then_it_is_refused(text: str) -> None:
    with pytest.raises(RecordingError):
        seglst.read(text, "file")


def test_transcript_json_when_read_then_words_and_turns_of_its_session() -> None:
    text = json.dumps(
        {
            "schema_version": "1.1",
            "session_id": "007",
            "segments": [{"start_s": 0.0, "end_s": 1.0, "speaker": None, "text": "so"}],
            "turns": [{"start_s": 0.0, "end_s": 2.0, "speaker": "SPEAKER_00"}],
        }
    )
    content = transcript_json.read(text, "file")
    assert content.utterances == {"007": (Utterance(TimeSpan(0.0, 1.0), None, "so"),)}
    assert content.turns == {"007": (SpeakerTurn(TimeSpan(0.0, 2.0), "SPEAKER_00"),)}


@pytest.mark.parametrize(
    ("speaker", "text", "turns"),
    [(None, "so", None), (None, " ", {"s": ()}), ("SPEAKER_00", "so", {"s": ()})],
)
def test_transcript_json_when_nobody_told_speakers_apart_then_it_has_no_turns(
    speaker: str | None, text: str, turns: object
) -> None:
    """Otherwise a run without diarization would have missed all speech; an empty one has."""
    document = {
        "schema_version": "1.1",
        "session_id": "s",
        "segments": [{"start_s": 0.0, "end_s": 1.0, "speaker": speaker, "text": text}],
        "turns": [],
    }
    assert transcript_json.read(json.dumps(document), "file").turns == turns


@pytest.mark.parametrize(
    "text",
    [
        '{"schema_version": "2.0", "segments": []}',
        '{"schema_version": "1.0", "segments": []}',
        '{"schema_version": "1.0", "segments": [{"text": 1}], "session_id": "s", "turns": []}',
        '{"status": "failed"}',
    ],
)
def test_transcript_json_when_it_is_damaged_or_newer_then_it_is_refused(text: str) -> None:
    with pytest.raises(RecordingError):
        transcript_json.read(text, "file")


def test_srt_when_murmur_names_speakers_at_changes_then_they_last() -> None:
    text = (
        "1\n00:00:00,500 --> 00:00:02,000\nSPEAKER_00: Well, that\nis it.\n\n"
        "2\n00:00:02,000 --> 00:00:03,000\nAnd more.\n\n"
        "3\n01:00:03,000 --> 01:00:04,000\nSPEAKER_01: Note: yes.\n"
    )
    assert subtitles.read_srt(text, "talk").utterances == {
        "talk": (
            Utterance(TimeSpan(0.5, 2.0), "SPEAKER_00", "Well, that is it."),
            Utterance(TimeSpan(2.0, 3.0), "SPEAKER_00", "And more."),
            Utterance(TimeSpan(3603.0, 3604.0), "SPEAKER_01", "Note: yes."),
        )
    }


def test_vtt_when_it_has_voices_tags_and_notes_then_names_and_plain_text() -> None:
    text = (
        "WEBVTT - made by hand\nKind: captions\n\nNOTE nothing\n\nSTYLE\n::cue { color: red }\n\n"
        "intro\n00:01.000 --> 00:02.500 align:start\n<v.loud Jane Roe>Q &amp; <i>A</i></v>\n"
    )
    assert subtitles.read_vtt(text, "talk").utterances == {
        "talk": (Utterance(TimeSpan(1.0, 2.5), "Jane Roe", "Q & A"),)
    }


@pytest.mark.parametrize("text", ["", "1\n00:00:00,000 --> 00:00:01,000\nhello\n"])
def test_vtt_when_its_header_is_missing_then_it_is_refused(text: str) -> None:
    with pytest.raises(RecordingError, match="WEBVTT"):
        subtitles.read_vtt(text, "talk")


def test_srt_when_a_cue_has_no_times_then_it_is_refused() -> None:
    with pytest.raises(RecordingError, match="no times"):
        subtitles.read_srt("1\nhello\nthere\n", "talk")


@pytest.mark.parametrize("name", IDS)
def test_ids_when_written_as_fields_then_they_are_read_as_they_were(name: str) -> None:
    from murmur_cli.writers.field import escape_field

    field = escape_field(name)
    assert list(stm.read(f"{field} 1 {field} 0 1 x\n", "").utterances or ()) == [name]
    assert list(rttm.read(f"SPEAKER {field} 1 0 1 <NA> <NA> A <NA> <NA>\n", "").turns or ()) == [
        name
    ]
    assert list(ctm.read(f"{field} 1 0 1 x\n", "").utterances or ()) == [name]
    assert list(uem.read(f"{field} 1 0 1\n")) == [name]
    rows = [{"session_id": name, "start_time": 0, "end_time": 1, "words": "x"}]
    assert list(seglst.read(json.dumps(rows), "").utterances or ()) == [name]
