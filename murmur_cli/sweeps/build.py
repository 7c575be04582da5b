"""A sweep's plan from what was asked for, checked before anything is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmur_cli.asr.registry import check_request, longest_chunk_s, takes_budget
from murmur_cli.bench.murmur_worker import settings_of
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import ModelChoice, ModelKind, choose_model, prepare
from murmur_cli.settings import TranscribeSettings
from murmur_cli.sweeps.grid import (
    ChunkSize,
    PolicySetting,
    SweepSetting,
    grid_of,
    with_variants,
)
from murmur_cli.sweeps.recordings import SweepAudio
from murmur_cli.sweeps.runner import SweepPlan

NEVER_REACHED_S = 1e8
"""A ceiling above that of any model."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SweepGrid:
    """What was asked for.

    Attributes:
        models: as for `--model`.
        sizes: of chunks.
        policies: with the options that do not change.
        variants: policy → option → values.
        budgets: for every policy that takes one.
    """

    models: tuple[str, ...]
    sizes: tuple[ChunkSize, ...]
    policies: tuple[PolicySetting, ...]
    variants: Mapping[str, Mapping[str, Sequence[str]]]
    budgets: tuple[str, ...] = ()


def settings_for(
    grid: SweepGrid, common: Mapping[str, Any], audio: SweepAudio, say: Say
) -> tuple[tuple[SweepSetting, ...], frozenset[str]]:
    """All settings of a sweep, and the models whose policies scale with the size of chunks.

    Raises:
        UsageError: a policy, option or budget that a model does not take.
        ModelError: a model that is unknown or not here.
    """
    longest_s = max((one.duration_s for one in audio.recordings), default=0.0)
    settings: list[SweepSetting] = []
    scaled: set[str] = set()
    for name in dict.fromkeys(grid.models):
        choice = choose_model(name, str(common["device"]))
        if choice.kind is ModelKind.EMBEDDED:
            # Every run needs the conversion; what the model lacks then shows before the first.
            prepare(choice)
        if not choice.is_whisper:
            scaled.add(choice.name)
        sizes = _sizes(choice, grid.sizes, longest_s, say)
        policies = _policies(choice, grid, common, sizes[0].ceiling_s(longest_s))
        own = grid_of([choice.name], sizes, policies)
        for setting in own:
            _check(choice, setting.policy, common, setting.size.ceiling_s(longest_s))
        settings += own
    return tuple(dict.fromkeys(settings)), frozenset(scaled)


def plan_of(
    settings: tuple[SweepSetting, ...],
    scaled: frozenset[str],
    audio: SweepAudio,
    common: Mapping[str, Any],
    *,
    repeats: int,
    threads: int,
    folder: Path,
) -> SweepPlan:
    """The plan.

    Raises:
        UsageError: fewer than one repeat or thread.
    """
    if repeats < 1:
        raise UsageError(f"--repeats {repeats}: give 1 or more")
    if threads < 1:
        raise UsageError(f"--threads {threads}: give 1 or more")
    return SweepPlan(settings, audio, common, scaled, repeats, threads, folder)


def _sizes(
    choice: ModelChoice, sizes: Sequence[ChunkSize], longest_s: float, say: Say
) -> tuple[ChunkSize, ...]:
    """Those that the model is meant for; what is longer becomes the longest that it is."""
    asked = settings_of({"model": choice.name, "chunk_s": NEVER_REACHED_S})
    limit_s = longest_chunk_s(choice, asked)
    if limit_s is None or limit_s >= NEVER_REACHED_S:
        return tuple(sizes)
    kept = [size for size in sizes if size.ceiling_s(longest_s) <= limit_s]
    if len(kept) < len(sizes):
        say(
            f"{choice.name} is meant for chunks of at most {limit_s:g} s: longer ones are that long"
        )
        kept.append(ChunkSize(limit_s))
    return tuple(dict.fromkeys(sorted(kept, key=lambda size: size.order)))


def _policies(
    choice: ModelChoice, grid: SweepGrid, common: Mapping[str, Any], chunk_s: float
) -> tuple[PolicySetting, ...]:
    """The grid's policies, with its budgets where they take one."""
    if not grid.budgets:
        return with_variants(grid.policies, grid.variants, {})
    taking = [
        policy
        for policy in grid.policies
        if takes_budget(choice, _settings(choice, policy, common, chunk_s))
    ]
    if not taking:
        for policy in grid.policies:
            _check(choice, policy, common, chunk_s)
        names = ", ".join(policy.label for policy in grid.policies)
        raise UsageError(
            f"--kv-budget {','.join(grid.budgets)}: no policy of the sweep has a budget ({names}); "
            "add one that has, such as --evict c3r"
        )
    return with_variants(grid.policies, grid.variants, dict.fromkeys(taking, grid.budgets))


def _check(
    choice: ModelChoice, policy: PolicySetting, common: Mapping[str, Any], chunk_s: float
) -> None:
    check_request(choice, _settings(choice, policy, common, chunk_s))


def _settings(
    choice: ModelChoice, policy: PolicySetting, common: Mapping[str, Any], chunk_s: float
) -> TranscribeSettings:
    return settings_of(
        {
            **common,
            "model": choice.name,
            "chunk_s": chunk_s,
            "evict": policy.name,
            "evict_options": dict(policy.options),
        }
    )
