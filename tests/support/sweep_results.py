"""Finished sweeps made of figures that a test names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from murmur_cli.scoring.counts import WordCounts
from murmur_cli.sweeps.grid import ChunkSize, PolicySetting, SweepSetting
from murmur_cli.sweeps.recommendation import recommend
from murmur_cli.sweeps.results import SweepResult
from murmur_cli.sweeps.run_file import RunLine
from murmur_cli.sweeps.summary import RecordingResult, SettingSummary, judged_by

NONE = PolicySetting("none")


def make_setting(size: float | None, policy: PolicySetting = NONE) -> SweepSetting:
    return SweepSetting("whisper-base", ChunkSize(size), policy)


def make_line(wall_s: float, repeat: int = 0, read: int = 80, run: str = "run") -> RunLine:
    """Recognition takes three quarters of the time; `read` of 100 entries are read."""
    kv = {"steps": 1, "speech_entries_read": read, "speech_entries_held": 100, "bytes_read": 10}
    kv |= {"output_entries_read": 0, "output_entries_held": 0}
    stages = {"recognition": 0.75 * wall_s, "diarization": 0.25 * wall_s}
    return RunLine(run, repeat, "talk", 60.0, {}, wall_s, wall_s, stages, 1_000_000, None, kv)


def make_summary(
    setting: SweepSetting,
    wall_s: float,
    errors: int | None,
    *,
    differs: int = 0,
    failure: str | None = None,
    read: int = 80,
) -> SettingSummary:
    """One recording of 1,000 words; `errors` None leaves it without a reference."""
    counts = {} if errors is None else {"tcpwer": WordCounts(substitutions=errors, length=1000)}
    result = RecordingResult(
        "talk",
        60.0,
        () if failure else (make_line(wall_s, read=read),),
        counts,
        WordCounts(substitutions=differs, length=1000),
        failure,
    )
    return SettingSummary(setting, (result,))


def make_result(
    summaries: Sequence[SettingSummary], *, by_size: bool = True, within: float = 0.5
) -> SweepResult:
    return SweepResult(
        "Sweep over chunk sizes" if by_size else "Sweep over KV policies",
        by_size,
        tuple(summaries),
        judged_by(summaries),
        within,
        recommend(summaries, within=within, by_size=by_size),
        ("one recording", "a machine"),
    )


def chunk_sweep(figures: Mapping[float | None, tuple[float, int | None]]) -> SweepResult:
    """Size → seconds and errors of 1,000 words."""
    return make_result(
        [
            make_summary(make_setting(size), wall_s, errors)
            for size, (wall_s, errors) in figures.items()
        ]
    )
