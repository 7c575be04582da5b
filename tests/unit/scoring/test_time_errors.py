"""Diarization and Jaccard errors, counted by hand in seconds."""

from __future__ import annotations

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.scoring.counts import JaccardCounts, TimeCounts
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.scoring.time_errors import TimeScore, region_of, score_times
from murmur_cli.types import SpeakerTurn, TimeSpan
from support.spoken import turns

REFERENCE = turns(("A", 0, 4), ("B", 4, 6))
WHOLE = (TimeSpan(0.0, 10.0),)


def _score(
    reference: tuple[SpeakerTurn, ...],
    found: tuple[SpeakerTurn, ...],
    region: tuple[TimeSpan, ...] = WHOLE,
    settings: ScoreSettings | None = None,
) -> TimeScore:
    return score_times(reference, found, region, settings or ScoreSettings())


def _parts(counts: TimeCounts) -> tuple[float, float, float, float]:
    parts = (counts.missed_s, counts.false_alarm_s, counts.confusion_s, counts.total_s)
    return tuple(round(part, 6) for part in parts)  # type: ignore[return-value]


def test_der_when_half_a_turn_is_missing_and_one_is_too_long_then_seconds_add_up() -> None:
    score = _score(REFERENCE, turns(("x", 0, 2), ("y", 4, 7)))
    assert _parts(score.diarization) == (2.0, 1.0, 0.0, 6.0)
    assert score.diarization.percent == pytest.approx(50.0)
    # A: 2 of 4 s missing; B: 1 s too much of 3 s together.
    assert score.jaccard.errors == pytest.approx(2 / 4 + 1 / 3)
    assert score.jaccard.speakers == 2


def test_der_when_everything_goes_to_one_speaker_then_the_shorter_one_is_confused() -> None:
    score = _score(REFERENCE, turns(("x", 0, 6)))
    assert _parts(score.diarization) == (0.0, 0.0, 2.0, 6.0)
    # A: 2 s too much of 6 s together; B is paired with nobody: 1.
    assert score.jaccard.errors == pytest.approx(2 / 6 + 1)


def test_der_when_overlaps_are_scored_or_left_out_then_both_or_none_count() -> None:
    reference, found = turns(("A", 0, 4), ("B", 2, 6)), turns(("x", 0, 4), ("y", 4, 6))
    assert _parts(_score(reference, found).diarization) == (2.0, 0.0, 0.0, 8.0)
    skipping = ScoreSettings(skip_overlap=True)
    assert _parts(_score(reference, found, settings=skipping).diarization) == (0.0, 0.0, 0.0, 4.0)


def test_der_when_there_is_a_collar_then_it_is_left_out_on_each_side_of_a_border() -> None:
    # Borders at 0, 4 and 6; 0.25 s on each side: 0.25 + 0.5 + 0.25 s of speech go.
    settings = ScoreSettings(der_collar_s=0.25)
    score = _score(REFERENCE, turns(("x", 0, 4.2), ("y", 4.2, 6)), settings=settings)
    assert _parts(score.diarization) == (0.0, 0.0, 0.0, 5.0)


def test_der_when_the_hypothesis_is_empty_then_all_is_missed() -> None:
    score = _score(REFERENCE, ())
    assert _parts(score.diarization) == (6.0, 0.0, 0.0, 6.0)
    assert score.diarization.percent == 100.0
    assert score.jaccard == JaccardCounts(2.0, 2)


def test_der_when_nobody_speaks_in_the_reference_then_no_rate_but_false_alarm() -> None:
    score = _score((), turns(("x", 1, 3)))
    assert _parts(score.diarization) == (0.0, 2.0, 0.0, 0.0)
    assert score.diarization.percent is None
    assert score.jaccard.percent is None


def test_der_when_turns_of_one_speaker_overlap_then_they_count_once() -> None:
    score = _score(turns(("A", 0, 3), ("A", 2, 4), ("B", 4, 6)), turns(("x", 0, 4), ("y", 4, 6)))
    assert _parts(score.diarization) == (0.0, 0.0, 0.0, 6.0)
    assert score.jaccard.errors == pytest.approx(0.0)


def test_der_when_the_region_is_limited_then_what_lies_outside_is_not_counted() -> None:
    score = _score(REFERENCE, (), (TimeSpan(1.0, 2.0), TimeSpan(5.0, 9.0)))
    assert _parts(score.diarization) == (2.0, 0.0, 0.0, 2.0)


def test_region_when_no_uem_limits_it_then_from_zero_to_the_last_end() -> None:
    spans = [TimeSpan(1.0, 4.0), TimeSpan(2.0, 9.0)]
    assert region_of(None, (), spans) == (TimeSpan(0.0, 9.0),)
    assert region_of(None, (), ()) == ()


def test_region_when_stretches_are_to_be_ignored_then_they_are_cut_out() -> None:
    holes = (TimeSpan(2.0, 3.0), TimeSpan(8.0, 20.0), TimeSpan(0.0, 1.0))
    assert region_of((TimeSpan(0.0, 10.0),), holes, ()) == (
        TimeSpan(1.0, 2.0),
        TimeSpan(3.0, 8.0),
    )


@pytest.mark.parametrize("collar_s", [-1.0, float("nan"), float("inf")])
def test_settings_when_a_collar_is_no_length_then_they_are_refused(collar_s: float) -> None:
    with pytest.raises(UsageError, match="--collar"):
        ScoreSettings(collar_s=collar_s)
    with pytest.raises(UsageError, match="--der-collar"):
        ScoreSettings(der_collar_s=collar_s)
