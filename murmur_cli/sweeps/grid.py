"""Which settings a sweep runs: sizes of chunks, policies with their options, models."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from murmur_cli.errors import UsageError
from murmur_cli.settings import MIN_CHUNK_S

DEFAULT_SIZES = "30,60,120,300,600,900,full"
FULL = "full"
BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class ChunkSize:
    """A ceiling of chunks in seconds; None is the whole recording."""

    seconds: float | None

    @property
    def label(self) -> str:
        """As `--sizes` takes it."""
        return FULL if self.seconds is None else f"{self.seconds:g}"

    @property
    def order(self) -> float:
        """Sizes sort by this; the whole recording is the longest."""
        return math.inf if self.seconds is None else self.seconds

    def ceiling_s(self, duration_s: float) -> float:
        """What `--chunk` must be to get this on a recording; the whole is rounded up."""
        whole_s = max(MIN_CHUNK_S, float(math.ceil(duration_s)))
        return whole_s if self.seconds is None else self.seconds


@dataclass(frozen=True, slots=True)
class PolicySetting:
    """A policy with its options as text, in order of their names."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        """As `--evict` takes it: 'speech:window=300'."""
        return self.name + (f":{self.variant}" if self.options else "")

    @property
    def variant(self) -> str:
        """The options alone."""
        return ",".join(f"{key}={value}" for key, value in self.options)


@dataclass(frozen=True, slots=True)
class SweepSetting:
    """One point of the grid."""

    model: str
    size: ChunkSize
    policy: PolicySetting

    @property
    def label(self) -> str:
        """Such as 'whisper-base, chunk 300, speech:window=300'."""
        return f"{self.model}, chunk {self.size.label}, {self.policy.label}"


def parse_sizes(text: str, option: str = "--sizes") -> tuple[ChunkSize, ...]:
    """Sizes from '30,60,full', each once, the shortest first; `option` is named in errors.

    Raises:
        UsageError: none, no number, or less than a chunk may have.
    """
    sizes: set[ChunkSize] = set()
    for part in _parts(text, ","):
        if part == FULL:
            sizes.add(ChunkSize(None))
            continue
        try:
            seconds = float(part)
        except ValueError:
            seconds = math.nan
        if not MIN_CHUNK_S <= seconds < math.inf:
            raise UsageError(
                f"{option} {part}: give seconds, at least {MIN_CHUNK_S:g}, or '{FULL}'; "
                f"such as {DEFAULT_SIZES}"
            )
        sizes.add(ChunkSize(seconds))
    if not sizes:
        raise UsageError(f"{option} is empty: give seconds and '{FULL}', such as {DEFAULT_SIZES}")
    return tuple(sorted(sizes, key=lambda size: size.order))


def parse_policy(text: str) -> PolicySetting:
    """A policy from 'speech' or 'speech:window=300,delay=0'; the registry checks what is in it.

    Raises:
        UsageError: no name, or an option that is no KEY=VALUE or is given twice.
    """
    name, colon, rest = text.strip().partition(":")
    options: dict[str, str] = {}
    for part in _parts(rest, ","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise UsageError(f"--evict {text}: write POLICY:KEY=VALUE,KEY=VALUE")
        if key in options:
            raise UsageError(f"--evict {text}: {key} is given twice")
        options[key] = value
    if not name or (colon and not options):
        raise UsageError(f"--evict '{text}': write POLICY or POLICY:KEY=VALUE,KEY=VALUE")
    return PolicySetting(name, tuple(sorted(options.items())))


def parse_variants(texts: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Policy → option → values, from 'POLICY.KEY=V1,V2'.

    Raises:
        UsageError: not of that form, or an option given twice.
    """
    found: dict[str, dict[str, tuple[str, ...]]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        policy, dot, option = key.strip().partition(".")
        listed = tuple(dict.fromkeys(_parts(values, ",")))
        if not equals or not dot or not policy or not option or not listed:
            raise UsageError(f"--evict-opt {text}: write POLICY.KEY=VALUE,VALUE")
        if option in found.setdefault(policy, {}):
            raise UsageError(f"--evict-opt {text}: {policy}.{option} is given twice")
        found[policy][option] = listed
    return found


def with_variants(
    policies: Sequence[PolicySetting],
    variants: Mapping[str, Mapping[str, Sequence[str]]],
    budgets: Mapping[PolicySetting, Sequence[str]],
) -> tuple[PolicySetting, ...]:
    """Every policy with every combination of its options' values and of its budgets.

    Raises:
        UsageError: options of a policy that is not among the policies, or one that is set already.
    """
    names = [policy.name for policy in policies]
    for name in variants:
        if name not in names:
            raise UsageError(
                f"--evict-opt {name}.…: the policy is not in the sweep; there: {', '.join(names)}"
            )
    made: dict[PolicySetting, None] = {}
    for policy in policies:
        grid = {key: tuple(values) for key, values in variants.get(policy.name, {}).items()}
        if budgets.get(policy):
            grid[BUDGET] = tuple(budgets[policy])
        taken = dict(policy.options).keys() & grid.keys()
        if taken:
            raise UsageError(f"--evict {policy.label}: {min(taken)} is varied, too; set it once")
        for values in product(*grid.values()):
            options = {**dict(policy.options), **dict(zip(grid, values, strict=True))}
            made[PolicySetting(policy.name, tuple(sorted(options.items())))] = None
    return tuple(made)


def grid_of(
    models: Iterable[str], sizes: Iterable[ChunkSize], policies: Iterable[PolicySetting]
) -> tuple[SweepSetting, ...]:
    """All combinations, each once: by model, then policy, then size."""
    made = (
        SweepSetting(model, size, policy)
        for model, policy, size in product(models, tuple(policies), tuple(sizes))
    )
    return tuple(dict.fromkeys(made))


def _parts(text: str, separator: str) -> list[str]:
    return [part.strip() for part in text.split(separator) if part.strip()]
