import pytest

from murmur_cli.attribution.legal_times import MIN_WORD_S, legal_words, without_overlap
from support.factories import make_word


def _times(words, duration_s=30.0):
    return [
        (round(item.word.span.start_s, 4), round(item.word.span.end_s, 4))
        for item in legal_words([make_word(*word) for word in words], duration_s)
    ]


def test_legal_words_when_times_are_legal_then_unchanged():
    assert _times([("a", 0.0, 0.5), ("b", 0.5, 0.9), ("c", 2.0, 2.4)]) == [
        (0.0, 0.5),
        (0.5, 0.9),
        (2.0, 2.4),
    ]


def test_legal_words_when_no_words_then_empty_even_without_audio():
    assert legal_words([], 0.0) == []


def test_legal_words_when_end_is_after_the_audio_then_clamped_and_marked():
    first, second = legal_words([make_word("a", 1.0, 2.0), make_word("b", 28.0, 31.0)], 30.0)
    assert (second.word.span.start_s, second.word.span.end_s) == (28.0, 30.0)
    assert (first.out_of_range, second.out_of_range) == (False, True)


def test_legal_words_when_start_is_negative_then_zero():
    assert _times([("a", -0.5, 1.0)]) == [(0.0, 1.0)]


def test_legal_words_when_end_is_one_frame_over_then_not_marked():
    (item,) = legal_words([make_word("a", 29.0, 30.01)], 30.0)
    assert item.word.span.end_s == 30.0
    assert not item.out_of_range


def test_legal_words_when_word_is_wholly_after_the_audio_then_kept_at_the_end():
    # Room before it: 15 characters per second take 5/15 s.
    item = legal_words([make_word("a", 0.0, 1.0), make_word("hello", 40.0, 42.0)], 30.0)[1]
    assert item.out_of_range
    assert item.word.span.end_s == 30.0
    assert item.word.span.start_s == pytest.approx(30 - 5 / 15)


def test_legal_words_when_one_start_runs_ahead_then_only_that_word_moves():
    # 'b' has the wild time; the anchors are a, c, d. It starts after its share of 1.0-3.0.
    times = _times([("a", 1.0, 1.5), ("b", 25.0, 25.5), ("c", 3.0, 3.5), ("d", 4.0, 4.5)])
    assert times[0] == (1.0, 1.5)
    assert times[2:] == [(3.0, 3.5), (4.0, 4.5)]
    assert times[1] == (2.0, 3.0)


def test_legal_words_when_last_start_goes_back_then_starts_increase():
    times = _times([("a", 1.0, 1.2), ("b", 7.6, 8.0), ("c", 7.2, 7.5)])
    starts = [start for start, _ in times]
    assert starts == sorted(starts)
    assert len(set(starts)) == 3


def test_legal_words_when_word_has_no_length_then_it_lasts_for_its_characters():
    assert _times([("hello", 5.0, 5.0)]) == [(5.0, round(5 + 5 / 15, 4))]


def test_legal_words_when_word_has_no_length_and_next_is_near_then_it_ends_there():
    assert _times([("hello", 5.0, 5.0), ("b", 5.2, 6.0)]) == [(5.0, 5.2), (5.2, 6.0)]


def test_legal_words_when_two_start_together_then_time_is_shared_by_characters():
    # 5.0-6.0 for 1 + 3 characters.
    assert _times([("a", 5.0, 5.0), ("bcd", 5.0, 6.0)]) == [(5.0, 5.25), (5.25, 6.0)]


def test_legal_words_when_more_words_than_room_then_still_increasing_inside_the_audio():
    times = legal_words([make_word("x", 9.0, 9.0) for _ in range(50)], 0.1)
    spans = [item.word.span for item in times]
    assert all(0 <= span.start_s < span.end_s <= 0.1 for span in spans)
    starts = [span.start_s for span in spans]
    assert starts == sorted(starts)
    assert len(set(starts)) == 50


def test_without_overlap_when_speakers_differ_then_overlap_stays():
    words = [
        make_word("a", 0.0, 2.0, speaker="A"),
        make_word("b", 1.0, 3.0, speaker="B"),
        make_word("c", 1.5, 2.5, speaker="A"),
    ]
    trimmed = [(word.span.start_s, word.span.end_s) for word in without_overlap(words)]
    assert trimmed == [(0.0, 1.5), (1.0, 3.0), (1.5, 2.5)]


def test_min_word_when_written_with_two_decimals_then_above_zero():
    assert float(f"{MIN_WORD_S:.2f}") > 0
