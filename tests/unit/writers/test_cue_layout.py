import pytest

from murmur_cli.writers.cue_layout import lay_out
from murmur_cli.writers.script import display_width
from support.factories import make_segment, make_word, make_words

_SIXTY_WORDS = (
    "when we first looked at the budget for the coming year, it seemed that there was enough for "
    "everything that people had asked for. but then the numbers from the second quarter came in, "
    "and it was clear that we would have to choose between the new building and the repairs that "
    "everybody agrees are needed before the next winter."
)


def _text(cues):
    return " ".join(line for cue in cues for line in cue.lines)


def test_lay_out_when_segment_is_long_then_every_limit_holds():
    cues = lay_out([make_segment(_SIXTY_WORDS, 0, 24)], 30.0)
    assert _text(cues) == _SIXTY_WORDS
    for cue in cues:
        assert len(cue.lines) <= 2
        assert all(display_width(line) <= 42 for line in cue.lines)
        assert 1000 <= cue.end_ms - cue.start_ms <= 7000
        assert sum(map(len, cue.lines)) * 1000 <= 20 * (cue.end_ms - cue.start_ms)
    assert any(cue.lines[-1].endswith("asked for.") for cue in cues)


def test_lay_out_when_two_lines_are_needed_then_they_are_of_like_length():
    # 4 x 10 + 3 spaces = 43 columns: one too many for a line.
    text = "aaaaaaaaaa bbbbbbbbbb cccccccccc dddddddddd"
    (cue,) = lay_out([make_segment(text, 0, 4)], 10.0)
    assert cue.lines == ("aaaaaaaaaa bbbbbbbbbb", "cccccccccc dddddddddd")


def test_lay_out_when_speaker_changes_then_named_once():
    segments = [
        make_segment("one two.", 0, 2, "SPEAKER_00"),
        make_segment("three four.", 5, 7, "SPEAKER_00"),
        make_segment("five.", 7, 9, "SPEAKER_01"),
        make_segment("six.", 9, 11),
        make_segment("seven.", 11, 13, "SPEAKER_01"),
    ]
    assert [cue.lines for cue in lay_out(segments, 20.0)] == [
        ("SPEAKER_00: one two.",),
        ("three four.",),
        ("SPEAKER_01: five.",),
        ("six.",),
        ("SPEAKER_01: seven.",),
    ]


def test_lay_out_when_name_counts_then_line_holds_it():
    segment = make_segment("a" * 20 + " " + "b" * 20, 0, 3, "SPEAKER_00")
    (cue,) = lay_out([segment], 10.0)
    assert cue.lines == ("SPEAKER_00: " + "a" * 20, "b" * 20)
    # 12 + 35 columns are too many: the name gets a line for itself.
    (cue,) = lay_out([make_segment("c" * 35, 0, 3, "SPEAKER_00")], 10.0)
    assert cue.lines == ("SPEAKER_00:", "c" * 35)


def test_lay_out_when_address_is_wider_than_a_line_then_whole():
    address = "https://example.org/" + "x" * 40
    cues = lay_out([make_segment(f"please read {address} before tomorrow", 0, 6)], 10.0)
    assert _text(cues) == f"please read {address} before tomorrow"
    assert [line for cue in cues for line in cue.lines if "https" in line] == [address]


def test_lay_out_when_cue_is_short_and_time_follows_then_one_second():
    (cue,) = lay_out([make_segment("Yes.", 1.0, 1.2)], 10.0)
    assert (cue.start_ms, cue.end_ms) == (1000, 2000)


def test_lay_out_when_next_cue_follows_then_ends_there():
    first, second = lay_out(
        [make_segment("Yes.", 1.0, 1.2, "A"), make_segment("No.", 1.5, 2.6, "B")], 10.0
    )
    assert (first.start_ms, first.end_ms) == (1000, 1500)
    assert (second.start_ms, second.end_ms) == (1500, 2600)


def test_lay_out_when_audio_ends_then_cue_ends_there():
    (cue,) = lay_out([make_segment("Yes.", 9.5, 9.7)], 10.0)
    assert (cue.start_ms, cue.end_ms) == (9500, 10_000)


def test_lay_out_when_text_is_fast_then_stands_for_twenty_columns_a_second():
    (cue,) = lay_out([make_segment("a" * 19 + " " + "b" * 20, 0, 0.5)], 10.0)
    assert cue.end_ms == 2000  # 40 columns


def test_lay_out_when_one_word_lasts_too_long_then_seven_seconds():
    (cue,) = lay_out([make_segment("well", 0, 20)], 30.0)
    assert cue.end_ms == 7000


def test_lay_out_when_sentence_has_no_spaces_then_breaks_at_punctuation_within_time():
    sentence = "今天天气很好，我们去公园散步，然后回家吃饭。"
    words = [make_word(sentence, 0, 18, space_before=False)]
    cues = lay_out([make_segment("", 0, 18, words=words)], 30.0)
    assert "".join(line for cue in cues for line in cue.lines) == sentence
    assert [cue.lines for cue in cues] == [
        ("今天天气很好，",),
        ("我们去公园散步，",),
        ("然后回家吃饭。",),
    ]
    # 22 characters in 18 s; the second cue starts after 7, the third after 15.
    assert [cue.start_ms for cue in cues] == [0, 5727, 12273]


def test_lay_out_when_unspaced_text_is_wide_then_full_width_counts_two():
    sentence = "春" * 50
    words = [make_word(sentence, 0, 6, space_before=False)]
    cues = lay_out([make_segment("", 0, 6, words=words)], 30.0)
    assert "".join(line for cue in cues for line in cue.lines) == sentence
    assert all(len(line) <= 21 for cue in cues for line in cue.lines)


def test_lay_out_when_word_is_split_then_pieces_stay_together():
    words = [*make_words("a" * 40, 0, 1), make_word("-b", 1, 1.2, space_before=False)]
    (cue,) = lay_out([make_segment("", 0, 1.2, words=words)], 10.0)
    assert cue.lines == ("a" * 40 + "-b",)


def test_lay_out_when_text_is_right_to_left_then_name_is_isolated_and_text_unchanged():
    (cue,) = lay_out([make_segment("مرحبا، كيف حالك؟", 0, 2, "SPEAKER_00")], 10.0)
    assert cue.lines == ("\u2068SPEAKER_00\u2069: مرحبا، كيف حالك؟",)


@pytest.mark.parametrize("duration_s", [0.0, 10.0])
def test_lay_out_when_no_segments_then_no_cues(duration_s):
    assert lay_out([], duration_s) == []


def test_lay_out_when_short_segments_of_one_speaker_follow_then_they_share_a_cue():
    segments = [make_segment("Yes.", 0, 0.4, "A"), make_segment("Right.", 0.4, 0.9, "A")]
    (cue,) = lay_out(segments, 10.0)
    assert cue.lines == ("A: Yes. Right.",)
