"""ORC-WER and DI-cpWER: segments of one side are given to the speakers of the other as fits best.

ORC-WER assigns the reference's utterances to the hypothesis' speakers, DI-cpWER the hypothesis'
utterances to the reference's speakers, so neither counts a confusion of speakers between whole
utterances. MeetEval takes at most 10 speakers; above, its greedy search is called without that
limit.
"""

from __future__ import annotations

import math

from murmur_cli.scoring.counts import WordCounts
from murmur_cli.scoring.edit_distance import counts_of, edits
from murmur_cli.scoring.streams import SpokenWords, Stream, by_speaker, seglst, words_of
from murmur_cli.scoring.word_score import WordScore

MEETEVAL_MOST_SPEAKERS = 10
_MOST_EXACT_CELLS = 5 * 10**7
"""Cells of the exact search's table, about a second."""

EXACT = "MeetEval, exact"
GREEDY = "MeetEval, greedy"
GREEDY_UNLIMITED = f"MeetEval's greedy search, more than its {MEETEVAL_MOST_SPEAKERS} speakers"


def orc_score(reference: Stream, hypothesis: Stream) -> WordScore:
    """Optimal reference combination WER: exact where that is cheap, else greedy (never below)."""
    from meeteval.wer.wer.orc import greedy_orc_word_error_rate, orc_word_error_rate

    if not reference or not hypothesis:
        return WordScore(edits(reference, hypothesis), EXACT)
    streams = by_speaker(hypothesis)
    if len(streams) > MEETEVAL_MOST_SPEAKERS:
        return WordScore(greedy_counts(reference, hypothesis), GREEDY_UNLIMITED)
    cells = len(words_of(reference)) * math.prod(
        len(words_of(stream)) + 1 for stream in streams.values()
    )
    if cells <= _MOST_EXACT_CELLS:
        return WordScore(
            counts_of(orc_word_error_rate(seglst(reference), seglst(hypothesis))), EXACT
        )
    return WordScore(
        counts_of(greedy_orc_word_error_rate(seglst(reference), seglst(hypothesis))), GREEDY
    )


def di_cp_score(reference: Stream, hypothesis: Stream) -> WordScore:
    """Diarization-invariant cpWER, by a greedy search."""
    from meeteval.wer.wer.di_cp import greedy_di_cp_word_error_rate

    if not reference or not hypothesis:
        return WordScore(edits(reference, hypothesis), GREEDY)
    if len(by_speaker(reference)) <= MEETEVAL_MOST_SPEAKERS:
        rate = greedy_di_cp_word_error_rate(seglst(reference), seglst(hypothesis))
        return WordScore(counts_of(rate), GREEDY)
    turned = greedy_counts(hypothesis, reference)
    counts = WordCounts(
        turned.deletions, turned.insertions, turned.substitutions, len(words_of(reference))
    )
    return WordScore(counts, GREEDY_UNLIMITED)


def greedy_counts(segments: Stream, streams: Stream) -> WordCounts:
    """Operations from `segments`, each given to a speaker of `streams`, to `streams`.

    MeetEval's greedy search, started from the best pairing of speakers, for any number of them.
    """
    from meeteval.io import SegLST
    from meeteval.wer.matching.greedy_combination_matching import (
        greedy_combination_matching,
        initialize_assignment,
    )

    targets = by_speaker(streams)
    start = initialize_assignment(
        SegLST(
            [
                {"speaker": one.speaker, "words": list(one.words), "segment_index": at}
                for at, one in enumerate(segments)
            ]
        ),
        SegLST([{"speaker": one.speaker, "words": list(one.words)} for one in streams]),
        "cp",
    )
    numbers = {word: at for at, word in enumerate({*words_of(segments), *words_of(streams)}, 1)}
    _, assignment = greedy_combination_matching(
        [[numbers[word] for word in one.words] for one in segments],
        [[numbers[word] for word in words_of(stream)] for stream in targets.values()],
        start,
    )
    given: list[list[SpokenWords]] = [[] for _ in targets]
    for one, target in zip(segments, assignment, strict=True):
        given[target].append(one)
    return sum(
        (
            edits(tuple(found), stream)
            for found, stream in zip(given, targets.values(), strict=True)
        ),
        WordCounts(),
    )
