"""Name of a policy -> its two rules, with defaults for the backend's rates."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable

from murmur_cli.engine.policies.align_window import AlignWindow
from murmur_cli.engine.policies.base import (
    EvictionPolicy,
    JointRule,
    OutputRule,
    RequestRates,
    SpeechRule,
)
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.options import override, reject_unknown
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.speech_window import SpeechWindow
from murmur_cli.engine.policies.streaming_window import StreamingWindow
from murmur_cli.errors import UsageError

Rules = tuple[SpeechRule, OutputRule] | JointRule

POLICIES: dict[str, Callable[[RequestRates], Rules]] = {
    "none": lambda rates: (KeepAll(), KeepAll()),
    "output": lambda rates: (KeepAll(), OutputWindow()),
    "speech": lambda rates: (SpeechWindow.defaults_for(rates), KeepAll()),
    "both": lambda rates: (SpeechWindow.defaults_for(rates), OutputWindow()),
    "streaming": StreamingWindow.defaults_for,
    "align": lambda rates: (AlignWindow.defaults_for(rates), KeepAll()),
    "align+output": lambda rates: (AlignWindow.defaults_for(rates), OutputWindow()),
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
    output, used_output = override(output, output_options, "output")
    reject_unknown(name, options, known, used_speech | used_output)
    return EvictionPolicy(name, speech, output)


def _options(rule: SpeechRule | OutputRule) -> set[str]:
    return {field.name for field in dataclasses.fields(rule)}  # type: ignore[arg-type]


def check_policy_name(name: str) -> None:
    """Raise a UsageError that lists the known policies if `name` is none of them."""
    if name not in POLICIES:
        near = difflib.get_close_matches(name, POLICIES, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        raise UsageError(f"--evict {name}: unknown policy{hint}; known: {', '.join(POLICIES)}")
