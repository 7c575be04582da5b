"""Runs -> figures of each setting: medians over repeats, sums over recordings, pooled counts."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from murmur_cli.scoring.counts import Counts, JaccardCounts, TimeCounts, WordCounts
from murmur_cli.sweeps.grid import SweepSetting
from murmur_cli.sweeps.run_file import RunLine
from murmur_cli.types import KvUsage

DISAGREEMENT = "disagreement"
WORD_METRICS = ("tcpwer", "cpwer", "wer")
"""Accuracy is judged by the first of these that there is."""

_ZERO: dict[str, Counts] = {"der": TimeCounts(), "jer": JaccardCounts()}


@dataclass(frozen=True, slots=True)
class RecordingResult:
    """One setting on one recording.

    Attributes:
        session: name of the recording.
        audio_s: its length.
        repeats: runs that did not fail; none if `failure` says why.
        counts: errors by metric; empty without a reference.
        disagreement: words that differ from those of the setting that all are compared with.
        failure: why there is no result.
    """

    session: str
    audio_s: float
    repeats: tuple[RunLine, ...] = ()
    counts: Mapping[str, Counts] = field(default_factory=dict)
    disagreement: WordCounts | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class SettingSummary:
    """One setting on all recordings.

    Times and counts are sums over the recordings that did not fail, of their medians over the
    repeats; memory is the most of any run.
    """

    setting: SweepSetting
    results: tuple[RecordingResult, ...]

    @property
    def done(self) -> tuple[RecordingResult, ...]:
        """Recordings that did not fail."""
        return tuple(result for result in self.results if result.failure is None)

    @property
    def failed(self) -> tuple[RecordingResult, ...]:
        """Recordings that did."""
        return tuple(result for result in self.results if result.failure is not None)

    @property
    def audio_s(self) -> float:
        """Length of the recordings that did not fail."""
        return sum(result.audio_s for result in self.done)

    @property
    def wall_s(self) -> float:
        """Of all jobs, one after another."""
        return sum(_median(line.wall_s for line in result.repeats) for result in self.done)

    @property
    def cpu_s(self) -> float:
        """Of the processes."""
        return sum(_median(line.cpu_s for line in result.repeats) for result in self.done)

    @property
    def stages_s(self) -> dict[str, float]:
        """Wall seconds by stage, in the order of the pipeline."""
        names = dict.fromkeys(
            name for result in self.done for line in result.repeats for name in line.stages_s
        )
        return {
            name: sum(
                _median(line.stages_s.get(name, 0.0) for line in result.repeats)
                for result in self.done
            )
            for name in names
        }

    @property
    def peak_bytes(self) -> int:
        """Most that was resident."""
        return max((line.peak_bytes for line in self._lines), default=0)

    @property
    def device_peak_bytes(self) -> int | None:
        """Most that the CUDA device held; None on a CPU."""
        known = [line.device_peak_bytes for line in self._lines]
        found = [one for one in known if one is not None]
        return max(found) if found else None

    @property
    def kv(self) -> KvUsage:
        """What decoding read; repeats read the same."""
        return sum(
            (KvUsage(**result.repeats[0].kv) for result in self.done if result.repeats), KvUsage()
        )

    @property
    def entries_read(self) -> int:
        """KV entries of speech and output that steps read, of one layer and head."""
        return self.kv.speech_entries_read + self.kv.output_entries_read

    @property
    def share_read(self) -> float | None:
        """Of the entries that full attention would read."""
        held = self.kv.speech_entries_held + self.kv.output_entries_held
        return self.entries_read / held if held else None

    @property
    def counts(self) -> dict[str, Counts]:
        """Errors of all recordings added up, by metric."""
        names = dict.fromkeys(name for result in self.done for name in result.counts)
        return {name: self._pooled(name) for name in names}

    @property
    def disagreement(self) -> WordCounts | None:
        """Words that differ from the compared setting's; None if it has no result."""
        known = [result.disagreement for result in self.done]
        found = [one for one in known if one is not None]
        return sum(found, WordCounts()) if found else None

    def percent(self, metric: str) -> float | None:
        """A metric in percent, or that of `DISAGREEMENT`."""
        counts = self.disagreement if metric == DISAGREEMENT else self.counts.get(metric)
        return counts.percent if counts is not None else None

    @property
    def _lines(self) -> Iterable[RunLine]:
        return (line for result in self.done for line in result.repeats)

    def _pooled(self, metric: str) -> Counts:
        total = _ZERO.get(metric, WordCounts())
        for result in self.done:
            if metric in result.counts:
                total = total + result.counts[metric]  # type: ignore[operator]
        return total


def comparable(summaries: Sequence[SettingSummary]) -> tuple[SettingSummary, ...]:
    """The settings that did every recording that any of them did: sums over others would not
    compare. A recording that fails in all of them is not held against any."""
    done = [frozenset(result.session for result in summary.done) for summary in summaries]
    every = frozenset().union(*done)
    return tuple(
        summary for summary, own in zip(summaries, done, strict=True) if own and own == every
    )


def judged_by(summaries: Sequence[SettingSummary]) -> str:
    """The metric of accuracy: tcpWER, else what there is, else the disagreement."""
    for metric in WORD_METRICS:
        if any(summary.percent(metric) is not None for summary in summaries):
            return metric
    return DISAGREEMENT


def compared_with(
    setting: SweepSetting, settings: Sequence[SweepSetting], *, by_size: bool
) -> SweepSetting:
    """The setting whose words others are compared with, and whose time is the measure of theirs.

    By size: the longest chunk of the same model and policy. Else full attention ('none') of the
    same model and size, or the first policy if it is not there.
    """
    if by_size:
        alike = [
            one for one in settings if (one.model, one.policy) == (setting.model, setting.policy)
        ]
        return max(alike, key=lambda one: one.size.order)
    alike = [one for one in settings if (one.model, one.size) == (setting.model, setting.size)]
    return next((one for one in alike if one.policy.name == "none"), alike[0])


def _median(values: Iterable[float]) -> float:
    return statistics.median(values)
