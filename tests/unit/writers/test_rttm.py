import io

import meeteval

from murmur_cli.writers import rttm
from support.factories import make_segment, make_transcript, make_turn


def test_render_when_two_turns_then_ten_fields_sorted_by_onset():
    turns = [make_turn(2.5, 4.0, "SPEAKER_01"), make_turn(0.5, 3.0, "SPEAKER_00")]
    transcript = make_transcript(turns=turns, session_id="talk")
    assert rttm.render(transcript) == (
        "SPEAKER talk 1 0.500 2.500 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
        "SPEAKER talk 1 2.500 1.500 <NA> <NA> SPEAKER_01 <NA> <NA>\n"
    )


def test_render_when_no_turns_then_empty():
    assert rttm.render(make_transcript()) == ""
    assert rttm.render(make_transcript([make_segment("hello", 0, 1)])) == ""


def test_render_when_turn_is_empty_or_negative_then_onset_and_duration_are_legal():
    turns = [make_turn(-0.5, 1.0, "A"), make_turn(2.0, 2.0, "A")]
    lines = rttm.render(make_transcript(turns=turns)).splitlines()
    assert [line.split()[3:5] for line in lines] == [["0.000", "1.000"], ["2.000", "0.001"]]


def test_render_when_names_have_white_space_then_meeteval_reads_ten_fields():
    transcript = make_transcript(turns=[make_turn(0, 1, "Jane\tRoe")], session_id="a b")
    (line,) = meeteval.io.RTTM.load(io.StringIO(rttm.render(transcript))).lines
    assert (line.filename, line.speaker_id, line.channel) == ("a%20b", "Jane%09Roe", "1")
