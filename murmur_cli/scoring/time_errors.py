"""DER and JER by pyannote.metrics, which needs neither Perl nor a download."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from murmur_cli.scoring.counts import JaccardCounts, TimeCounts
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.types import SpeakerTurn, TimeSpan


@dataclass(frozen=True, slots=True)
class TimeScore:
    """Diarization errors and Jaccard errors of one session."""

    diarization: TimeCounts
    jaccard: JaccardCounts


def score_times(
    reference: Sequence[SpeakerTurn],
    hypothesis: Sequence[SpeakerTurn],
    region: Sequence[TimeSpan],
    settings: ScoreSettings,
) -> TimeScore:
    """Compare who speaks when inside the region; speakers are paired by most common time.

    Overlapping turns of one speaker count once.
    """
    from pyannote.core import Timeline
    from pyannote.metrics.diarization import DiarizationErrorRate, JaccardErrorRate

    options = {
        # pyannote's collar is the whole width around a border.
        "collar": 2 * settings.der_collar_s,
        "skip_overlap": settings.skip_overlap,
    }
    compared = _annotation(reference), _annotation(hypothesis)
    scored = Timeline([_segment(span) for span in region])
    time = DiarizationErrorRate(**options).compute_components(*compared, uem=scored)
    jaccard = JaccardErrorRate(**options).compute_components(*compared, uem=scored)
    return TimeScore(
        TimeCounts(time["missed detection"], time["false alarm"], time["confusion"], time["total"]),
        JaccardCounts(jaccard["speaker error"], int(jaccard["speaker count"])),
    )


def region_of(
    stretches: Sequence[TimeSpan] | None,
    ignored: Iterable[TimeSpan],
    spoken: Iterable[TimeSpan],
) -> tuple[TimeSpan, ...]:
    """What is scored: the given stretches, else from 0 to the last end on either side; without
    what is to be ignored."""
    whole = [TimeSpan(0.0, max((span.end_s for span in spoken), default=0.0))]
    region = list(stretches if stretches is not None else whole)
    for hole in ignored:
        region = [part for span in region for part in _without(span, hole)]
    return tuple(span for span in region if span.duration_s > 0)


def _without(span: TimeSpan, hole: TimeSpan) -> Iterable[TimeSpan]:
    if not span.overlap_s(hole):
        yield span
        return
    yield TimeSpan(span.start_s, max(span.start_s, hole.start_s))
    yield TimeSpan(min(span.end_s, hole.end_s), span.end_s)


def _annotation(turns: Sequence[SpeakerTurn]) -> Any:
    from pyannote.core import Annotation

    made = Annotation()
    for number, turn in enumerate(turns):
        made[_segment(turn.span), number] = turn.speaker
    # Otherwise overlapping turns of one speaker would count twice.
    return made.support()


def _segment(span: TimeSpan) -> Any:
    from pyannote.core import Segment

    assert math.isfinite(span.end_s), span
    return Segment(span.start_s, span.end_s)
