"""Which setting to take: the fastest that is about as accurate as the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from murmur_cli.sweeps.grid import SweepSetting
from murmur_cli.sweeps.summary import (
    DISAGREEMENT,
    SettingSummary,
    comparable,
    compared_with,
    judged_by,
)

DEFAULT_WITHIN = 0.5
"""Percentage points of the best that are as good as the best."""

SAME_TIME = 1.05
"""Times that differ by less than this factor are the same: clocks are not better than that."""

METRIC_NAMES = {
    "wer": "WER",
    "cpwer": "cpWER",
    "tcpwer": "tcpWER",
    "orcwer": "ORC-WER",
    "dicpwer": "DI-cpWER",
    "der": "DER",
    "jer": "JER",
    DISAGREEMENT: "agreement",
}


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A setting and why.

    Attributes:
        summary: of the setting.
        metric: that accuracy was judged by.
        points: percentage points above the best setting.
        base: the setting whose time is the measure.
        share: of the base's time; None if the base has no complete result.
        text: one line.
    """

    summary: SettingSummary
    metric: str
    points: float
    base: SweepSetting
    share: float | None
    text: str


def recommend(
    summaries: Sequence[SettingSummary], *, within: float, by_size: bool
) -> Recommendation | None:
    """The recommendation among settings that compare (see `comparable`); None without any.

    Of the settings within `within` points of the best, those count that are as fast as the
    fastest (see `SAME_TIME`); of these the most accurate is taken, and of equals the first.
    """
    metric = judged_by(summaries)
    complete = comparable(summaries)
    known = [
        (summary, percent)
        for summary in complete
        if (percent := summary.percent(metric)) is not None
    ]
    if not known:
        return None
    best = min(percent for _, percent in known)
    # A hair's breadth more, so that 25.0 is within 0.5 of 24.5 in binary, too.
    good = [one for one in known if one[1] <= best + within + 1e-9]
    fastest_s = min(summary.wall_s for summary, _ in good)
    fast = [one for one in good if one[0].wall_s <= fastest_s * SAME_TIME]
    summary, percent = min(fast, key=lambda one: one[1])
    base = compared_with(summary.setting, [one.setting for one in summaries], by_size=by_size)
    base_s = next((one.wall_s for one in complete if one.setting == base), None)
    share = summary.wall_s / base_s if base_s else None
    points = percent - best
    text = _text(summary, summaries, metric, points, percent, base, share, by_size=by_size)
    return Recommendation(summary, metric, points, base, share, text)


def _text(
    summary: SettingSummary,
    summaries: Sequence[SettingSummary],
    metric: str,
    points: float,
    percent: float,
    base: SweepSetting,
    share: float | None,
    *,
    by_size: bool,
) -> str:
    of = f"--chunk {base.size.label}" if by_size else f"--evict {base.policy.name}"
    call = call_of(summary.setting, [one.setting for one in summaries])
    if metric == DISAGREEMENT:
        near = f"{percent:.1f} % of the words differ from {of},"
    else:
        near = f"within {points:.1f} points of the best {METRIC_NAMES[metric]}"
    if summary.setting == base:
        return f"{call}: " + (
            "nothing with nearly the same words is faster"
            if metric == DISAGREEMENT
            else f"{near}, nothing as good is faster"
        )
    if share is None:
        return f"{call}: {near} at {summary.wall_s:.1f} s"
    return f"{call}: {near} at {100 * share:.0f} % of the time of {of}"


def call_of(setting: SweepSetting, settings: Sequence[SweepSetting]) -> str:
    """Options of `murmur transcribe` that make the setting, without those that never changed."""
    parts = []
    if len({one.model for one in settings}) > 1:
        parts.append(f"--model {setting.model}")
    several = len({one.policy for one in settings}) > 1
    if len({one.size for one in settings}) > 1 or not several:
        parts.append(f"--chunk {setting.size.label}")
    if several:
        parts.append(f"--evict {setting.policy.name}")
        parts += [f"--evict-opt {key}={value}" for key, value in setting.policy.options]
    return " ".join(parts)
