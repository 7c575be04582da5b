"""Which policies the engine part compares, from `--evict a,b --evict-opt a.key=value`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from murmur_cli.engine.policies.registry import RETRIEVAL, check_policy_name
from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean

BASELINE = "none"

LONGEST_PROMPT = 1024
"""More tokens than any prompt here has."""


@dataclass(frozen=True, slots=True)
class EngineSetting:
    """A policy with its options, as text."""

    policy: str
    options: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Such as 'speech window=300'."""
        return " ".join([self.policy, *(f"{key}={value}" for key, value in self.options.items())])


def parse_settings(evict: str, options: Sequence[str]) -> tuple[EngineSetting, ...]:
    """The settings in the order named, each once, 'none' first because the others need it.

    Raises:
        UsageError: an unknown policy, or an option without a policy in the list.
    """
    names = [name.strip() for name in evict.split(",") if name.strip()]
    for name in names:
        check_policy_name(name)
    settings = {name: EngineSetting(name) for name in (BASELINE, *names)}
    for text in options:
        key, separator, value = text.partition("=")
        policy, dot, option = key.strip().partition(".")
        if not separator or not dot or not option:
            raise UsageError(f"--evict-opt {text}: write POLICY.KEY=VALUE")
        if policy not in settings:
            hint = did_you_mean(policy, settings)
            raise UsageError(
                f"--evict-opt {text}: policy '{policy}' is not in --evict{hint}; "
                f"there: {', '.join(settings)}"
            )
        settings[policy].options[option] = value.strip()
    return tuple(settings.values())


COVERING: dict[str, Callable[[int, int], dict[str, str]]] = {
    "none": lambda entries, steps: {},
    "output": lambda entries, steps: {"window": str(steps + 1)},
    "speech": lambda entries, steps: {"window": str(entries)},
    "both": lambda entries, steps: {
        "speech_window": str(entries),
        "output_window": str(steps + 1),
    },
    "streaming": lambda entries, steps: {"window": str(entries + steps + LONGEST_PROMPT)},
    "align": lambda entries, steps: {"before": str(entries), "after": str(entries)},
    "align+output": lambda entries, steps: {
        "before": str(entries),
        "after": str(entries),
        "window": str(steps + 1),
    },
    **{
        name: lambda entries, steps: {"budget": str(entries)}
        for name in (name for rule in RETRIEVAL for name in (rule, f"{rule}+output"))
    },
}
"""Policy → options with which nothing is evicted from so many speech entries and steps."""


def covering(policy: str, speech_entries: int, steps: int) -> EngineSetting:
    """The policy with a budget that covers everything: it must decode as 'none' does."""
    return EngineSetting(policy, COVERING[policy](speech_entries, steps))
