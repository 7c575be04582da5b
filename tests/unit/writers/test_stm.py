import meeteval

from murmur_cli.writers import stm
from support.factories import make_segment, make_transcript, make_word


def test_render_when_speaker_is_unknown_then_named_unknown():
    transcript = make_transcript([make_segment("hello there", 0.5, 1.5)], session_id="s")
    assert stm.render(transcript) == "s 1 unknown 0.500 1.500 hello there\n"


def test_render_when_no_words_then_one_row_that_scores_as_deletions():
    text = stm.render(make_transcript(session_id="s", duration_s=3.0))
    assert text == "s 1 unknown 0.000 3.000\n"
    reference = meeteval.io.STM.parse("s 1 A 0 1 one two three\ns 1 B 1 2 four five\n")
    hypothesis = meeteval.io.STM.parse(text)
    (score,) = meeteval.wer.tcpwer(reference, hypothesis, collar=5).values()
    assert (score.errors, score.deletions, score.length) == (5, 5, 5)


def test_render_when_text_has_line_breaks_then_stays_on_one_line():
    words = [make_word("one", 0, 1), make_word("t\nwo", 1, 2)]
    transcript = make_transcript([make_segment("", 0, 2, "A", words=words)])
    assert stm.render(transcript) == "talk 1 A 0.000 2.000 one t wo\n"
