"""Options of a policy, given as text (`--evict-opt key=value`), checked against its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, TypeVar, runtime_checkable

from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean

Rule = TypeVar("Rule")


KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
"""What to give for an option of this type."""


@runtime_checkable
class Implying(Protocol):
    """A rule some of whose defaults depend on options that are given."""

    def implied_by(self, given: Mapping[str, object]) -> dict[str, object]:
        """Values of fields that are not given, from those that are."""


def override(rule: Rule, options: dict[str, str], prefix: str = "") -> tuple[Rule, set[str]]:
    """The rule with the options that are its fields, and the names that were used.

    An option is a field's name, with `prefix` and an underscore before it where two rules
    of one policy share a name ('output_window' beside 'speech_window').

    Raises:
        UsageError: a value is not of the field's type or outside its range.
    """
    values: dict[str, Any] = {}
    used: set[str] = set()
    for field in dataclasses.fields(rule):  # type: ignore[arg-type]  # rules are dataclasses
        for key in (f"{prefix}_{field.name}" if prefix else field.name, field.name):
            if key in options:
                current = getattr(rule, field.name)
                values[field.name] = _parse(key, options[key], type(current))
                used.add(key)
                break
    if not values:
        return rule, used
    if isinstance(rule, Implying):
        values |= rule.implied_by(values)
    return dataclasses.replace(rule, **values), used  # type: ignore[type-var]


def reject_unknown(policy: str, options: dict[str, str], known: set[str], used: set[str]) -> None:
    """Raise a UsageError for an option that no rule of the policy took."""
    for key in options:
        if key not in used:
            if key in known:
                raise UsageError(f"--evict-opt {key}: the same option is given in its other form")
            hint = did_you_mean(key, known)
            names = ", ".join(sorted(known)) or "none"
            raise UsageError(
                f"--evict-opt {key}: policy '{policy}' has no such option{hint}; it has: {names}"
            )


def require_at_least(name: str, value: int, minimum: int) -> None:
    """Raise a UsageError if an option's value is below its limit."""
    if value < minimum:
        raise UsageError(f"--evict-opt {name}={value}: give {minimum} or more")


def _parse(key: str, text: str, kind: type) -> Any:
    try:
        if kind is bool:
            return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}[
                text.strip().lower()
            ]
        if kind is KvBudget:
            return KvBudget.parse(text)
        return kind(text)
    except (KeyError, ValueError):
        raise UsageError(f"--evict-opt {key}={text}: give {KINDS[kind]}") from None
