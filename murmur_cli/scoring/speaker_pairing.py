"""cpWER and tcpWER: each speaker's words under the best pairing of speakers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from murmur_cli.scoring.counts import WordCounts
from murmur_cli.scoring.edit_distance import edits, timed_edits
from murmur_cli.scoring.streams import Stream, by_speaker, seglst
from murmur_cli.scoring.word_score import SpeakerScore, WordScore

MEETEVAL_MOST_SPEAKERS = 20
"""MeetEval refuses more on a side."""
MEETEVAL = "MeetEval"
OWN = f"own pairing of speakers (more than MeetEval's {MEETEVAL_MOST_SPEAKERS})"

Distance = Callable[[Stream, Stream], WordCounts]
Names = Sequence[tuple[str | None, str | None]]


def cp_score(reference: Stream, hypothesis: Stream) -> WordScore:
    """Concatenated minimum-permutation WER."""
    from meeteval.wer.wer.cp import cp_word_error_rate

    return _score(
        reference,
        hypothesis,
        edits,
        lambda: cp_word_error_rate(seglst(reference), seglst(hypothesis)).assignment,
    )


def tcp_score(reference: Stream, hypothesis: Stream, collar_s: float) -> WordScore:
    """Time-constrained minimum-permutation WER."""
    from meeteval.wer.wer.time_constrained import (
        time_constrained_minimum_permutation_word_error_rate,
    )

    return _score(
        reference,
        hypothesis,
        lambda one, other: timed_edits(one, other, collar_s),
        lambda: (
            time_constrained_minimum_permutation_word_error_rate(
                seglst(reference), seglst(hypothesis), collar=collar_s
            ).assignment
        ),
    )


def _score(
    reference: Stream, hypothesis: Stream, distance: Distance, meeteval: Callable[[], Names]
) -> WordScore:
    references, hypotheses = by_speaker(reference), by_speaker(hypothesis)
    names: Names
    if not references or not hypotheses:
        names = [*((name, None) for name in references), *((None, name) for name in hypotheses)]
        method = MEETEVAL
    elif max(len(references), len(hypotheses)) <= MEETEVAL_MOST_SPEAKERS:
        names, method = meeteval(), MEETEVAL
    else:
        names, method = best_pairing(references, hypotheses, distance), OWN
    speakers = tuple(
        SpeakerScore(
            name,
            other,
            distance(
                references[name] if name is not None else (),
                hypotheses[other] if other is not None else (),
            ),
        )
        for name, other in names
        if name is not None or other is not None
    )
    return WordScore(sum((one.counts for one in speakers), WordCounts()), method, speakers)


def best_pairing(
    references: dict[str, Stream], hypotheses: dict[str, Stream], distance: Distance
) -> list[tuple[str | None, str | None]]:
    """Pairs of names with the fewest errors together, for any number of speakers.

    As MeetEval defines it: an assignment of minimum cost (Hungarian method), in which a speaker may
    be paired with nobody.
    """
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    size = max(len(references), len(hypotheses))
    rows = [*references.items(), *[(None, ())] * (size - len(references))]
    columns = [*hypotheses.items(), *[(None, ())] * (size - len(hypotheses))]
    costs = np.array([[distance(one, other).errors for _, other in columns] for _, one in rows])
    picked = zip(*linear_sum_assignment(costs), strict=True)
    return [(rows[row][0], columns[column][0]) for row, column in picked]
