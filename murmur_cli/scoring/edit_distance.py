"""Edit operations between two streams of words, by MeetEval."""

from __future__ import annotations

from typing import Any

from murmur_cli.scoring.counts import WordCounts
from murmur_cli.scoring.streams import Stream, seglst, words_of


def edits(reference: Stream, hypothesis: Stream) -> WordCounts:
    """Fewest operations, times left aside."""
    from meeteval.wer.wer.siso import siso_word_error_rate

    return _one_sided(reference, hypothesis) or counts_of(
        siso_word_error_rate(" ".join(words_of(reference)), " ".join(words_of(hypothesis)))
    )


def timed_edits(reference: Stream, hypothesis: Stream, collar_s: float) -> WordCounts:
    """Fewest operations where only words within `collar_s` of each other may stand for each other.

    Words have the times that MeetEval's tcpWER gives them: shares of their utterance by length.
    """
    from meeteval.wer.wer.time_constrained import time_constrained_siso_word_error_rate

    return _one_sided(reference, hypothesis) or counts_of(
        time_constrained_siso_word_error_rate(
            seglst(reference),
            seglst(hypothesis),
            collar=collar_s,
            reference_pseudo_word_level_timing="character_based",
            hypothesis_pseudo_word_level_timing="character_based_points",
            reference_sort="segment",
            hypothesis_sort="segment",
        )
    )


def _one_sided(reference: Stream, hypothesis: Stream) -> WordCounts | None:
    """Everything is left out, or too much, if a side has no words; None if both have."""
    if reference and hypothesis:
        return None
    missing, extra = len(words_of(reference)), len(words_of(hypothesis))
    return WordCounts(insertions=extra, deletions=missing, length=missing)


def counts_of(rate: Any) -> WordCounts:
    """Counts of MeetEval's ErrorRate."""
    return WordCounts(rate.insertions, rate.deletions, rate.substitutions, rate.length)
