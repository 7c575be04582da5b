from murmur_cli.attribution.speaker_index import SpeakerIndex
from murmur_cli.attribution.word_speaker import MAX_DISTANCE_S, word_speakers
from murmur_cli.types import TimeSpan
from support.factories import make_timeline


def _speakers(words, *turns, opens=(0,)):
    index = SpeakerIndex(make_timeline(*turns).turns)
    opens_segment = [at in opens for at in range(len(words))]
    return word_speakers([TimeSpan(*word) for word in words], opens_segment, index)


def test_word_speakers_when_one_overlaps_more_then_that_one():
    assert _speakers([(1.0, 2.0)], (0.0, 1.4, "A"), (1.4, 3.0, "B")) == ["B"]


def test_word_speakers_when_short_turns_sum_up_then_total_overlap_counts():
    # A: 0.3 + 0.3 inside the word, B: 0.4 in one piece.
    turns = (0.0, 0.3, "A"), (0.3, 0.7, "B"), (0.7, 1.0, "A")
    assert _speakers([(0.0, 1.0)], *turns) == ["A"]


def test_word_speakers_when_turns_of_one_speaker_overlap_then_time_counts_once():
    turns = (0.0, 0.4, "A"), (0.1, 0.4, "A"), (0.4, 1.0, "B")
    assert _speakers([(0.0, 1.0)], *turns) == ["B"]


def test_word_speakers_when_both_talk_then_keeps_the_word_before():
    # B's backchannel 1.0-2.0 lies inside A's turn: no flip.
    words = [(0.0, 0.5), (0.5, 1.0), (1.2, 1.5), (1.5, 1.8), (2.2, 2.5)]
    assert _speakers(words, (0.0, 3.0, "A"), (1.0, 2.0, "B")) == ["A"] * 5
    assert _speakers(words, (0.0, 3.0, "B"), (1.0, 2.0, "A")) == ["B"] * 5


def test_word_speakers_when_recording_opens_with_overlap_then_takes_the_word_after():
    words = [(0.0, 0.4), (0.5, 0.9), (1.2, 1.5)]
    assert _speakers(words, (0.0, 1.0, "A"), (0.0, 2.0, "B")) == ["B", "B", "B"]


def test_word_speakers_when_only_overlap_then_first_by_name():
    words = [(0.0, 0.4), (0.5, 0.9), (1.0, 1.2)]
    assert _speakers(words, (0.0, 2.0, "B"), (0.0, 2.0, "A")) == ["A", "A", "A"]


def test_word_speakers_when_turns_change_inside_overlap_then_changes_once():
    # A 0-2, B 1-3: words at 1.0-2.0 stay with A, then B.
    words = [(0.5, 0.9), (1.1, 1.4), (1.5, 1.9), (2.1, 2.5)]
    assert _speakers(words, (0.0, 2.0, "A"), (1.0, 3.0, "B")) == ["A", "A", "A", "B"]


def test_word_speakers_when_segment_opens_in_overlap_then_follows_its_own_words():
    words = [(0.5, 0.9), (1.1, 1.4), (1.5, 1.9), (2.1, 2.5)]
    turns = (0.0, 2.0, "A"), (1.0, 3.0, "B")
    assert _speakers(words, *turns, opens=(0, 1)) == ["A", "B", "B", "B"]
    # A segment that lies wholly in the overlap follows the one before.
    assert _speakers(words, *turns, opens=(0, 1, 3)) == ["A", "A", "A", "B"]


def test_word_speakers_when_outside_every_turn_then_nearest():
    assert _speakers([(3.0, 3.5)], (0.0, 2.0, "A"), (4.0, 5.0, "B")) == ["B"]


def test_word_speakers_when_too_far_from_every_turn_then_unknown():
    turn = (0.0, 1.0, "A")
    assert _speakers([(1.0 + MAX_DISTANCE_S + 0.1, 20.0)], turn) == [None]
    assert _speakers([(1.0 + MAX_DISTANCE_S - 0.1, 20.0)], turn) == ["A"]


def test_word_speakers_when_nested_turn_then_only_the_part_outside_the_other_flips():
    # B talks alone at 2-3 only.
    words = [(0.5, 1.0), (1.2, 1.8), (2.1, 2.8)]
    assert _speakers(words, (0.0, 2.0, "A"), (1.0, 3.0, "B")) == ["A", "A", "B"]


def test_word_speakers_when_no_words_then_empty():
    assert _speakers([], (0.0, 1.0, "A")) == []
