"""Name of a policy -> its two rules, with defaults for the backend's rates."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from murmur_cli.engine.policies.align_window import AlignWindow
from murmur_cli.engine.policies.base import (
    EvictionPolicy,
    JointRule,
    OutputRule,
    RequestRates,
    SpeechRule,
)
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.policies.chunkkv import ChunkKv
from murmur_cli.engine.policies.clusterkv import ClusterKv
from murmur_cli.engine.policies.h2o import H2O
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.options import override, reject_unknown
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.pyramidkv import PyramidKv
from murmur_cli.engine.policies.quest import Quest
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.policies.snapkv import SnapKv
from murmur_cli.engine.policies.speech_window import SpeechWindow
from murmur_cli.engine.policies.streaming_window import StreamingWindow
from murmur_cli.engine.policies.unique import Unique
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean

Rules = tuple[SpeechRule, OutputRule] | JointRule
RulesFor = Callable[[RequestRates], Rules]

BUDGET = "budget"
"""Option of every rule with an index; `--kv-budget` is short for it."""

RETRIEVAL: dict[str, Callable[[RequestRates], RetrievalRule]] = {
    "c3": lambda rates: C3(),
    "c3r": lambda rates: C3.with_remainder(),
    "quest": lambda rates: Quest(),
    "unique": lambda rates: Unique(),
    "clusterkv": lambda rates: ClusterKv(),
    "h2o": H2O.defaults_for,
    "snapkv": lambda rates: SnapKv(),
    "pyramidkv": lambda rates: PyramidKv(),
    "chunkkv": lambda rates: ChunkKv(),
    "voxzip": VoxZip.defaults_for,
}
"""Speech rules with an index; each also stands with every output rule."""


def _with_output(
    rule: Callable[[RequestRates], RetrievalRule], output: Callable[[], OutputRule]
) -> RulesFor:
    return lambda rates: (rule(rates), output())


POLICIES: dict[str, RulesFor] = {
    "none": lambda rates: (KeepAll(), KeepAll()),
    "output": lambda rates: (KeepAll(), OutputWindow()),
    "speech": lambda rates: (SpeechWindow.defaults_for(rates), KeepAll()),
    "both": lambda rates: (SpeechWindow.defaults_for(rates), OutputWindow()),
    "streaming": StreamingWindow.defaults_for,
    "align": lambda rates: (AlignWindow.defaults_for(rates), KeepAll()),
    "align+output": lambda rates: (AlignWindow.defaults_for(rates), OutputWindow()),
    **{name: _with_output(rule, KeepAll) for name, rule in RETRIEVAL.items()},
    **{f"{name}+output": _with_output(rule, OutputWindow) for name, rule in RETRIEVAL.items()},
}


def build_policy(name: str, options: dict[str, str], rates: RequestRates) -> EvictionPolicy:
    """The named policy with its options.

    When both rules have options, a name that both share ('sinks', 'window') must be written
    'speech_sinks' or 'output_sinks'.

    Raises:
        UsageError: unknown policy, one that does not suit the backend, an unknown or ambiguous
            option, or a value out of range.
    """
    check_policy_name(name)
    rules = POLICIES[name](rates)
    if BUDGET in options:
        check_takes_budget(name, options[BUDGET])
    if not isinstance(rules, tuple):
        joint, used = override(rules, options)
        reject_unknown(name, options, _options(rules), used)
        return EvictionPolicy(name, joint, joint)
    speech, output = rules
    shared = _options(speech) & _options(output)
    known = {f"speech_{key}" for key in _options(speech)}
    known |= {f"output_{key}" for key in _options(output)}
    known |= (_options(speech) | _options(output)) - shared
    for key in options:
        if key in shared:
            raise UsageError(
                f"--evict-opt {key}: write speech_{key} or output_{key}; policy '{name}' has both"
            )
    speech_options = {key: value for key, value in options.items() if not key.startswith("output_")}
    output_options = {key: value for key, value in options.items() if not key.startswith("speech_")}
    speech, used_speech = override(speech, speech_options, "speech")
    if isinstance(speech, RetrievalRule):
        speech.check_for(rates)
        speech.check_given({key.removeprefix("speech_") for key in used_speech})
    output, used_output = override(output, output_options, "output")
    reject_unknown(name, options, known, used_speech | used_output)
    return EvictionPolicy(name, speech, output)


def check_takes_budget(name: str, budget: str) -> None:
    """Raise a UsageError if the named policy chooses by position, and so has no budget."""
    if name.partition("+")[0] not in RETRIEVAL:
        raise UsageError(
            f"--kv-budget {budget}: policy '{name}' chooses by position and has no budget; "
            f"{', '.join(RETRIEVAL)} have one"
        )


def _options(rule: SpeechRule | OutputRule) -> set[str]:
    return {field.name for field in dataclasses.fields(rule)}  # type: ignore[arg-type]


def check_policy_name(name: str) -> None:
    """Raise a UsageError that lists the known policies if `name` is none of them."""
    if name not in POLICIES:
        hint = did_you_mean(name, POLICIES)
        raise UsageError(f"--evict {name}: unknown policy{hint}; known: {', '.join(POLICIES)}")
