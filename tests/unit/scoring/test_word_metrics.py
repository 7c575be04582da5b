"""Word metrics: counted by hand, and against MeetEval's own functions."""

from __future__ import annotations

import pytest

from murmur_cli.scoring.counts import WordCounts
from murmur_cli.scoring.edit_distance import edits, timed_edits
from murmur_cli.scoring.segment_assignment import (
    EXACT,
    GREEDY,
    di_cp_score,
    greedy_counts,
    orc_score,
)
from murmur_cli.scoring.speaker_pairing import (
    MEETEVAL,
    OWN,
    best_pairing,
    cp_score,
    tcp_score,
)
from murmur_cli.scoring.streams import Stream, by_speaker, seglst
from support.spoken import stream

REFERENCE = stream(("A", 0, 2, "so we begin"), ("B", 2, 4, "yes we do"), ("A", 4, 6, "good"))


def test_edits_when_a_word_differs_and_one_is_left_out_then_each_is_counted() -> None:
    # so we begin yes we do good / so we began yes do good oh
    found = stream(("x", 0, 6, "so we began yes do good oh"))
    assert edits(REFERENCE, found) == WordCounts(1, 1, 1, 7)


def test_edits_when_a_speaker_has_several_segments_then_they_are_joined_in_order_of_time() -> None:
    # MeetEval's plain WER refuses several segments of one session and speaker.
    assert edits(REFERENCE, stream(("x", 4, 6, "do good"), ("x", 0, 4, "so we begin yes we"))) == (
        WordCounts(length=7)
    )


@pytest.mark.parametrize("score", [cp_score, orc_score, di_cp_score])
def test_metrics_when_hypothesis_is_empty_then_all_is_left_out(score) -> None:  # type: ignore[no-untyped-def]
    assert score(REFERENCE, ()).counts == WordCounts(deletions=7, length=7)
    assert tcp_score(REFERENCE, (), 5.0).counts == WordCounts(deletions=7, length=7)


@pytest.mark.parametrize("score", [cp_score, orc_score, di_cp_score])
def test_metrics_when_reference_is_empty_then_all_is_inserted(score) -> None:  # type: ignore[no-untyped-def]
    counts = score((), REFERENCE).counts
    assert counts == WordCounts(insertions=7)
    assert counts.percent is None
    assert score((), ()).counts == WordCounts()


def test_cpwer_when_a_word_moves_to_another_speaker_then_half_is_wrong() -> None:
    # A home-made cpWER gave 0 here: "sat" is extra for one speaker and missing for the other.
    reference = stream(("A", 0, 1, "the cat"), ("B", 1, 2, "sat on"))
    found = stream(("1", 0, 1, "the cat sat"), ("2", 1, 2, "on"))
    score = cp_score(reference, found)
    assert score.counts == WordCounts(1, 1, 0, 4)
    assert score.counts.percent == 50.0
    assert score.method == MEETEVAL


def test_cpwer_when_names_differ_then_pairs_and_their_counts_are_told() -> None:
    found = stream(("2", 0, 2, "so we begin"), ("1", 2, 4, "yes"), ("2", 4, 6, "good"))
    speakers = {pair.reference: pair for pair in cp_score(REFERENCE, found).speakers}
    assert speakers["A"].hypothesis == "2"
    assert speakers["A"].counts == WordCounts(length=4)
    assert speakers["B"].hypothesis == "1"
    assert speakers["B"].counts == WordCounts(deletions=2, length=3)


def test_cpwer_when_one_side_has_more_speakers_then_the_rest_is_paired_with_nobody() -> None:
    found = stream(("1", 0, 2, "so we begin good"), ("2", 2, 4, "yes we do"), ("3", 5, 6, "oh no"))
    score = cp_score(REFERENCE, found)
    assert (None, "3") in {(pair.reference, pair.hypothesis) for pair in score.speakers}
    assert score.counts == WordCounts(insertions=2, length=7)


def test_tcpwer_when_words_come_much_later_then_they_are_no_match() -> None:
    # 10 s late with a collar of 5 s: left out here and inserted there.
    reference, found = stream(("A", 0, 1, "yes")), stream(("1", 10, 11, "yes"))
    assert cp_score(reference, found).counts == WordCounts(length=1)
    assert tcp_score(reference, found, 5.0).counts == WordCounts(1, 1, 0, 1)
    assert tcp_score(reference, found, 10.0).counts == WordCounts(length=1)


def test_orc_wer_when_utterances_are_given_to_the_wrong_speaker_then_none_is_wrong() -> None:
    found = stream(("1", 0, 4, "so we begin yes we do"), ("2", 4, 6, "good"))
    assert orc_score(REFERENCE, found).counts == WordCounts(length=7)
    assert orc_score(REFERENCE, found).method == EXACT
    assert cp_score(REFERENCE, found).counts.errors > 0


def test_di_cpwer_when_one_speaker_was_split_in_two_then_none_is_wrong() -> None:
    found = stream(("1", 0, 2, "so we begin"), ("2", 2, 4, "yes we do"), ("3", 4, 6, "good"))
    assert di_cp_score(REFERENCE, found).counts == WordCounts(length=7)
    assert di_cp_score(REFERENCE, found).method == GREEDY


def test_di_cpwer_when_words_are_left_out_and_inserted_then_they_are_not_exchanged() -> None:
    found = stream(("1", 0, 6, "so we begin good oh oh"), ("2", 2, 4, "yes we"))
    assert di_cp_score(REFERENCE, found).counts == WordCounts(2, 1, 0, 7)


def test_orc_wer_when_the_exact_table_would_be_large_then_the_greedy_search_is_told() -> None:
    # 200 words against five speakers of 40 words each: 200 * 41 ** 5 cells, 2.3e10.
    rows = [(str(at % 5), float(at), at + 1.0, "a b c d") for at in range(50)]
    score = orc_score(stream(*rows), stream(*rows))
    assert score.method == GREEDY
    assert score.counts == WordCounts(length=200)


def _crowd(number: int, prefix: str, shift: int = 0) -> Stream:
    """Speakers who say three words of their own each, one other if shifted."""
    return stream(
        *(
            (f"{prefix}{at:02d}", at * 3.0, at * 3.0 + 2, f"word{at} of{at} mine{at + shift}")
            for at in range(number)
        )
    )


def test_cp_and_tcpwer_when_there_are_more_than_twenty_speakers_then_scored_and_told() -> None:
    # Each of 25 speakers has one word that is another's.
    reference, found = _crowd(25, "ref"), _crowd(25, "hyp", shift=100)
    for score in (cp_score(reference, found), tcp_score(reference, found, 5.0)):
        assert score.method == OWN
        assert score.counts == WordCounts(substitutions=25, length=75)
        assert all(pair.reference[3:] == pair.hypothesis[3:] for pair in score.speakers)  # type: ignore[index]


def test_cpwer_when_only_the_hypothesis_has_more_than_twenty_then_extra_words_count() -> None:
    score = cp_score(_crowd(3, "ref"), _crowd(22, "hyp"))
    assert score.counts == WordCounts(insertions=19 * 3, length=9)
    assert len(score.speakers) == 22


def test_orc_and_di_cpwer_when_there_are_more_than_ten_speakers_then_scored_and_told() -> None:
    reference, found = _crowd(13, "ref"), _crowd(12, "hyp")
    assert orc_score(reference, found).counts == WordCounts(deletions=3, length=39)
    assert di_cp_score(reference, found).counts == WordCounts(deletions=3, length=39)
    assert "more than" in orc_score(reference, found).method
    assert "more than" in di_cp_score(reference, found).method


def test_best_pairing_when_meeteval_can_do_it_then_both_have_the_same_errors() -> None:
    from meeteval.wer.wer.cp import cp_word_error_rate

    reference, found = _crowd(9, "ref"), _crowd(7, "hyp", shift=2)
    references, hypotheses = by_speaker(reference), by_speaker(found)
    errors = sum(
        edits(references.get(one or "", ()), hypotheses.get(other or "", ())).errors
        for one, other in best_pairing(references, hypotheses, edits)
    )
    assert errors == cp_word_error_rate(seglst(reference), seglst(found)).errors


def test_greedy_counts_when_meeteval_can_do_it_then_the_same() -> None:
    from meeteval.wer.wer.orc import greedy_orc_word_error_rate

    reference, found = _crowd(10, "ref"), _crowd(9, "hyp", shift=1)
    rate = greedy_orc_word_error_rate(seglst(reference), seglst(found))
    counts = greedy_counts(reference, found)
    assert (counts.errors, counts.length) == (rate.errors, rate.length)


def test_timed_edits_when_summed_over_pairs_then_they_are_meetevals_tcpwer() -> None:
    from meeteval.wer.wer.time_constrained import (
        time_constrained_minimum_permutation_word_error_rate,
    )

    reference, found = _crowd(6, "ref"), _crowd(6, "hyp", shift=1)
    rate = time_constrained_minimum_permutation_word_error_rate(
        seglst(reference), seglst(found), collar=2.0
    )
    score = tcp_score(reference, found, 2.0)
    assert score.counts.errors == rate.errors
    pairs = by_speaker(reference), by_speaker(found)
    again = sum(
        (
            timed_edits(pairs[0].get(one or "", ()), pairs[1].get(other or "", ()), 2.0)
            for one, other in rate.assignment
        ),
        WordCounts(),
    )
    assert again.errors == rate.errors
