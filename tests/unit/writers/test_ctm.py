from murmur_cli.writers import ctm
from support.factories import make_segment, make_transcript, make_word


def test_render_when_words_have_probabilities_then_sixth_field():
    words = [
        make_word("hello", 0.5, 0.75, probability=0.9876),
        make_word("you", 0.75, 1.0),
        make_word("now", 1.0, 1.5, probability=float("nan")),
    ]
    transcript = make_transcript([make_segment("", 0.5, 1.5, words=words)], session_id="s")
    assert ctm.render(transcript) == (
        "s 1 0.500 0.250 hello 0.988\ns 1 0.750 0.250 you\ns 1 1.000 0.500 now\n"
    )


def test_render_when_no_words_then_empty():
    assert ctm.render(make_transcript()) == ""
