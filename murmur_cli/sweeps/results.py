"""A finished sweep: its plan, what ran, and what it is worth."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.sweeps.accuracy import Accuracy
from murmur_cli.sweeps.grid import SweepSetting
from murmur_cli.sweeps.recommendation import Recommendation, recommend
from murmur_cli.sweeps.recordings import SweepRecording
from murmur_cli.sweeps.run_file import RunFile
from murmur_cli.sweeps.runner import SweepPlan
from murmur_cli.sweeps.summary import (
    RecordingResult,
    SettingSummary,
    compared_with,
    judged_by,
)


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What a sweep found.

    Attributes:
        title: of reports.
        by_size: whether the chunk is what is varied; else the policy is.
        summaries: one for each setting, in the order of the grid.
        metric: that accuracy is judged by.
        within: points of the best that count as good.
        recommendation: None if every setting failed somewhere.
        about: how it was run and scored, one line each.
    """

    title: str
    by_size: bool
    summaries: tuple[SettingSummary, ...]
    metric: str
    within: float
    recommendation: Recommendation | None
    about: tuple[str, ...]

    @property
    def failures(self) -> dict[str, str]:
        """Session → why it failed, in any setting."""
        return {
            result.session: result.failure or ""
            for summary in self.summaries
            for result in summary.failed
        }

    def of_sessions(self, sessions: frozenset[str]) -> tuple[SettingSummary, ...]:
        """The summaries over some of the recordings only."""
        return tuple(
            SettingSummary(
                summary.setting,
                tuple(result for result in summary.results if result.session in sessions),
            )
            for summary in self.summaries
        )


def result_of(
    plan: SweepPlan,
    runs: RunFile,
    accuracy: Accuracy,
    *,
    by_size: bool,
    within: float,
) -> SweepResult:
    """Score what ran and put it together."""
    summaries = tuple(
        _summary(plan, runs, accuracy, setting, by_size=by_size) for setting in plan.settings
    )
    return SweepResult(
        title="Sweep over chunk sizes" if by_size else "Sweep over KV policies",
        by_size=by_size,
        summaries=summaries,
        metric=judged_by(summaries),
        within=within,
        recommendation=recommend(summaries, within=within, by_size=by_size),
        about=tuple(_about(plan, runs, accuracy)),
    )


def _summary(
    plan: SweepPlan, runs: RunFile, accuracy: Accuracy, setting: SweepSetting, *, by_size: bool
) -> SettingSummary:
    other = compared_with(setting, plan.settings, by_size=by_size)
    results = [
        _result(plan, runs, accuracy, setting, other, recording)
        for recording in plan.audio.recordings
    ]
    results += [
        RecordingResult(session, 0.0, failure=reason)
        for session, reason in plan.audio.unreadable.items()
    ]
    return SettingSummary(setting, tuple(results))


def _result(
    plan: SweepPlan,
    runs: RunFile,
    accuracy: Accuracy,
    setting: SweepSetting,
    other: SweepSetting,
    recording: SweepRecording,
) -> RecordingResult:
    session, run = recording.source.session_id, plan.run(setting, recording)
    repeats = runs.repeats(run)[: plan.repeats]
    if not repeats:
        reason = runs.failure(run) or "was not run"
        return RecordingResult(session, recording.duration_s, failure=reason)
    transcript = plan.transcript(run, recording)
    base = plan.run(other, recording)
    there = plan.transcript(base, recording)
    return RecordingResult(
        session,
        recording.duration_s,
        repeats,
        accuracy.counts(transcript),
        accuracy.disagreement(transcript, there) if runs.repeats(base) else None,
    )


def _about(plan: SweepPlan, runs: RunFile, accuracy: Accuracy) -> list[str]:
    lines = [
        f"{len(plan.audio.recordings)} recording(s), "
        f"{sum(one.duration_s for one in plan.audio.recordings):.0f} s; {plan.repeats} repeat(s), "
        "medians; every recording alone, from the file to the transcript, models loaded and warm"
    ]
    used = {plan.run(setting, one) for setting in plan.settings for one in plan.audio.recordings}
    machines = {
        (str(line.machine.get("device")), line.machine.get("threads"), line.machine.get("commit"))
        for run in used
        for line in runs.repeats(run)[: plan.repeats]
    }
    lines += [
        f"{device}; {threads} thread(s); commit {commit}"
        for device, threads, commit in sorted(machines, key=str)
    ]
    if len(machines) > 1:
        lines.append("runs of more than one machine or commit: their times do not compare")
    lines.append(f"words: --norm {accuracy.normalizer.name} ({accuracy.normalizer.description})")
    if accuracy.region is not None:
        settings = accuracy.settings
        lines[-1] += f"; tcpWER: collar {settings.collar_s:g} s"
        lines[-1] += f"; DER, JER: collar {settings.der_collar_s:g} s; region: {accuracy.region}"
    if accuracy.unpaired:
        lines.append(f"no reference: {', '.join(sorted(accuracy.unpaired))}")
    return lines
