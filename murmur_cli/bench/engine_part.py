"""The engine alone: what a decode step costs under each policy, measured in alternation."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch

from murmur_cli.bench.engine_setting import BASELINE, EngineSetting, covering
from murmur_cli.bench.engine_subject import EngineSubject, NeverEnds
from murmur_cli.bench.peak_memory import peak_bytes, reset_peak
from murmur_cli.bench.record import BenchPart, BenchRow, Column, Figure, Scale
from murmur_cli.bench.spread import spread_of
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.memory_plan import RequestLimits
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import UsageError
from murmur_cli.types import KvUsage

COLUMNS = (
    Column("tokens_per_s", "tokens/s"),
    Column("start_s", "start ms", digits=0, divisor=1e-3),
    Column("kv_bytes_per_token", "KV kB/token", digits=0, divisor=1e3),
    Column("share_read", "share read", digits=3),
    Column("arena_bytes", "arena MB", digits=0, divisor=1e6),
    Column("peak_bytes", "peak MB", digits=0, divisor=1e6),
    Column("covering_check", "covering = none"),
)

Watch = Callable[[int, int], None]
"""Told of (rounds done, rounds)."""


@dataclass(slots=True)
class _Runs:
    """Repeats of one setting."""

    step_s: list[float] = field(default_factory=list)
    start_s: list[float] = field(default_factory=list)
    kv: KvUsage = field(default_factory=KvUsage)
    arena_bytes: int = 0
    peak_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Run:
    """One repeat: seconds of the filling step, mean seconds of the others, tokens by request."""

    start_s: float
    step_s: float
    kv: KvUsage
    tokens: tuple[tuple[int, ...], ...]
    arena_bytes: int
    peak_bytes: int


def measure_engine(
    subject: EngineSubject,
    settings: Sequence[EngineSetting],
    *,
    slots: int,
    steps: int,
    rounds: int,
    watch: Watch = lambda done, rounds: None,
) -> BenchPart:
    """Time of a decode step under each setting; `rounds` repeats after one that is not counted.

    All slots are filled by one step, then `steps` steps decode one token for each row, whatever
    the model would end. The order of the settings turns by one each round. In the uncounted
    round each policy also decodes with a budget that covers everything, and must give the
    tokens of 'none'.

    Raises:
        UsageError: more steps than the model has positions for.
    """
    most = subject.adapter.max_entries - len(subject.prompt) - 1
    if not 2 <= steps <= most:
        raise UsageError(f"--steps {steps}: give 2 to {most}; the model has no more positions")
    checks = _check_covering(subject, settings, slots, steps)
    runs = {setting.name: _Runs() for setting in settings}
    for number in range(rounds + 1):
        turn = number % len(settings)
        for setting in (*settings[turn:], *settings[:turn]):
            run = _run(subject, setting, slots, steps)
            if number:
                _add(runs[setting.name], run)
        watch(number, rounds)
    rows = tuple(
        _row(setting, _options(policy), runs[setting.name], slots, checks)
        for setting, policy in (
            (setting, build_policy(setting.policy, setting.options, subject.rates))
            for setting in settings
        )
    )
    note = (
        f"One decode step of {slots} rows, {subject.speech_entries} speech entries each, mean of "
        f"{steps - 1} steps; {rounds} rounds in alternation; {subject.precision}. "
        "start: all rows' speech keys and values, prompt and first step; the encoder ran before."
    )
    return BenchPart(
        "engine", "Decode step by policy", note, rows, COLUMNS, settings[0].name, Scale.MILLISECONDS
    )


def _run(subject: EngineSubject, setting: EngineSetting, slots: int, steps: int) -> _Run:
    _reset_peak(subject)
    policy = build_policy(setting.policy, setting.options, subject.rates)
    rule = NeverEnds(subject.adapter.end_tokens)
    # The prompt gives the first token; each step one more.
    limits = RequestLimits(len(subject.prompt), steps + 1)
    engine = DecodeEngine(subject.adapter, policy, rule, slots, limits=limits)
    try:
        engine.open()
        if engine.slots < slots:
            raise UsageError(
                f"--batch-size {slots}: memory holds {engine.slots} requests; give at most that"
            )
        engine.submit(subject.requests(slots, steps + 1))
        arena_bytes = engine.planned_bytes
        began = time.perf_counter()
        finished = engine.step()
        filled = time.perf_counter()
        decoded = 0
        while engine.busy:
            finished += engine.step()
            decoded += 1
        ended = time.perf_counter()
    finally:
        engine.close()
    ordered = sorted(finished, key=lambda end: int(end.request.key.split()[1]))
    assert all(len(end.tokens) == steps + 1 for end in ordered), setting
    return _Run(
        start_s=filled - began,
        step_s=(ended - filled) / decoded,
        kv=sum((end.kv for end in finished), KvUsage()),
        tokens=tuple(end.tokens for end in ordered),
        arena_bytes=arena_bytes,
        peak_bytes=_peak(subject),
    )


def _check_covering(
    subject: EngineSubject, settings: Sequence[EngineSetting], slots: int, steps: int
) -> dict[str, str]:
    """Policy → 'equal', or how many rows differ."""
    full = _run(subject, EngineSetting(BASELINE), slots, steps).tokens
    checks = {}
    for policy in dict.fromkeys(setting.policy for setting in settings):
        wide = covering(policy, subject.speech_entries, steps + 1)
        found = _run(subject, wide, slots, steps).tokens
        differing = sum(own != other for own, other in zip(found, full, strict=True))
        checks[policy] = f"{differing} of {slots} rows differ" if differing else "equal"
    return checks


def _add(runs: _Runs, run: _Run) -> None:
    runs.step_s.append(run.step_s)
    runs.start_s.append(run.start_s)
    runs.kv += run.kv
    runs.arena_bytes = run.arena_bytes
    runs.peak_bytes = max(runs.peak_bytes, run.peak_bytes)


def _options(policy: EvictionPolicy) -> dict[str, Figure]:
    """Every option of both rules as the policy uses it, defaults included."""
    return {
        f"{region}_{field.name}": getattr(rule, field.name)
        for region, rule in (("speech", policy.speech), ("output", policy.output))
        for field in dataclasses.fields(rule)  # type: ignore[arg-type]  # rules are dataclasses
    }


def _row(
    setting: EngineSetting,
    options: dict[str, Figure],
    runs: _Runs,
    slots: int,
    checks: dict[str, str],
) -> BenchRow:
    kv = runs.kv
    held = kv.speech_entries_held + kv.output_entries_held
    figures: dict[str, Figure] = {
        "tokens_per_s": slots / spread_of(runs.step_s).median,
        "start_s": spread_of(runs.start_s).median,
        "kv_bytes_per_token": kv.bytes_read / kv.steps,
        "share_read": (kv.speech_entries_read + kv.output_entries_read) / held,
        "arena_bytes": runs.arena_bytes,
        "peak_bytes": runs.peak_bytes,
        "covering_check": checks[setting.policy],
    }
    return BenchRow(setting.name, tuple(runs.step_s), figures, options)


def _reset_peak(subject: EngineSubject) -> None:
    device = subject.windows[0].device
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    else:
        reset_peak()


def _peak(subject: EngineSubject) -> int:
    device = subject.windows[0].device
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return peak_bytes()
