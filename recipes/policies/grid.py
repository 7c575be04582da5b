"""Which policies are compared, and what a budget means to each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.policies.registry import RETRIEVAL, build_policy
from murmur_cli.sweeps.grid import PolicySetting

FULL = PolicySetting("none")
"""What every other setting is compared with."""

Options = dict[str, str]


@dataclass(frozen=True, slots=True)
class Variant:
    """One line of the table: a policy, with options that do not depend on the budget.

    Attributes:
        label: its name in tables and pictures.
        policy: as `--evict` takes it.
        options: as `--evict-opt` takes them.
        shared_heads: whether it differs from another only where query heads share a KV head.
    """

    label: str
    policy: str
    options: tuple[tuple[str, str], ...] = ()
    shared_heads: bool = False


FIRST_ORDER = (
    ("granularity", "8"),
    ("iterations", "3"),
    ("metric", "cosine"),
    ("reach", "0"),
    ("second_order", "false"),
    ("split", "size"),
)
"""`c3r` as it was prototyped: summaries are means and nothing more."""

VARIANTS = (
    Variant("c3r", "c3r"),
    Variant("c3r, first order", "c3r", FIRST_ORDER),
    Variant("c3", "c3"),
    Variant("quest", "quest"),
    Variant("clusterkv", "clusterkv"),
    Variant("quest, remainder", "quest", (("remainder", "true"),)),
    Variant("unique", "unique"),
    Variant("snapkv", "snapkv"),
    Variant("h2o", "h2o"),
    Variant("c3, fixed frontier", "c3", (("operations", "0"),)),
    Variant("clusterkv, 16 a cluster", "clusterkv", (("cluster", "16"),)),
    Variant("c3, fixed, two dense layers", "c3", (("operations", "0"), ("dense_layers", "2"))),
    Variant("quest, two dense layers", "quest", (("dense_layers", "2"),)),
    Variant("quest, mean over heads", "quest", (("reduce", "mean"),), shared_heads=True),
    Variant(
        "clusterkv, 16, max over heads",
        "clusterkv",
        (("cluster", "16"), ("reduce", "max")),
        shared_heads=True,
    ),
    Variant("pyramidkv", "pyramidkv"),
    Variant("chunkkv", "chunkkv"),
    Variant("voxzip, stage 2", "voxzip"),
    Variant("align", "align"),
    Variant("speech, two edges", "speech", (("right_edge", "true"),)),
    Variant("streaming", "streaming"),
)
"""In the order in which they are run: what tells most comes first."""


def _align(budget: int, rates: RequestRates) -> Options | None:
    """Half of what is left beside the tail on each side of the focus; none without heads."""
    margin = (budget - rates.tail_sinks - 1) // 2
    if margin < 1 or not rates.has_alignment_heads:
        return None
    return {"before": str(margin), "after": str(margin)}


def _speech(budget: int, rates: RequestRates) -> Options | None:
    window = budget - rates.tail_sinks
    return {"window": str(window)} if window >= 1 else None


def _streaming(budget: int, rates: RequestRates) -> Options | None:
    """The published budget: first and last entries of the one cache, output included."""
    return {"window": str(budget - 4)} if rates.speech_is_causal and budget > 4 else None


_BY_POSITION: Mapping[str, Callable[[int, RequestRates], Options | None]] = {
    "align": _align,
    "speech": _speech,
    "streaming": _streaming,
}


def budgeted(variant: Variant, budget: int, rates: RequestRates) -> PolicySetting | None:
    """The variant with so many speech entries per KV head and step.

    None where the budget has no meaning: a window smaller than the tail that is always read, or
    a policy that the model's cache does not allow.
    """
    if variant.policy in RETRIEVAL:
        own: Options | None = {"budget": str(budget)}
    else:
        own = _BY_POSITION[variant.policy](budget, rates)
    if own is None:
        return None
    return PolicySetting(variant.policy, tuple(sorted((dict(variant.options) | own).items())))


def grid(
    budgets: Sequence[int], rates: RequestRates, *, heads_are_shared: bool
) -> list[tuple[Variant, int, PolicySetting]]:
    """Every variant at every budget that means something, in the order of running.

    heads_are_shared: whether several query heads have one KV head.
    """
    return [
        (variant, budget, setting)
        for variant in VARIANTS
        if heads_are_shared or not variant.shared_heads
        for budget in budgets
        if (setting := budgeted(variant, budget, rates)) is not None
    ]


def policy_of(setting: PolicySetting, rates: RequestRates) -> EvictionPolicy:
    """What the engine takes."""
    return build_policy(setting.name, dict(setting.options), rates)
