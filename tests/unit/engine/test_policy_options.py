from __future__ import annotations

import pytest

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.registry import POLICIES, build_policy, check_policy_name
from murmur_cli.engine.policies.speech_window import SpeechWindow
from murmur_cli.errors import UsageError

RATES = RequestRates(50.0, 7.0, 30.0)


def test_options_when_given_then_typed_values_replace_defaults() -> None:
    options = {"delay": "7", "window": "90", "rate": "1.5", "right_edge": "true"}
    policy = build_policy("speech", options, RATES)
    assert policy.speech == SpeechWindow(7, 90, 1.5, 0, True)


def test_options_when_policy_has_both_rules_then_prefixed_names_reach_their_rule() -> None:
    options = {"speech_window": "90", "output_window": "12", "output_sinks": "1", "delay": "3"}
    policy = build_policy("both", options, RATES)
    assert isinstance(policy.speech, SpeechWindow)
    assert (policy.speech.window, policy.speech.delay) == (90, 3)
    assert policy.output == OutputWindow(1, 12)


def test_options_when_only_one_rule_has_them_then_prefix_may_be_left_out() -> None:
    assert build_policy("output", {"window": "5"}, RATES).output == OutputWindow(4, 5)
    assert build_policy("output", {"output_window": "5"}, RATES).output == OutputWindow(4, 5)


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("both", {"window": "5"}, "write speech_window or output_window; policy 'both' has both"),
        ("none", {"window": "5"}, "policy 'none' has no such option; it has: none"),
        ("output", {"windw": "5"}, r"--evict-opt windw: .*did you mean window\?"),
        ("output", {"delay": "5"}, "policy 'output' has no such option"),
        ("output", {"speech_window": "5"}, "policy 'output' has no such option"),
        ("speech", {"delay": "soon"}, "--evict-opt delay=soon: not a value of type int"),
        ("speech", {"delay": "1.5"}, "--evict-opt delay=1.5: not a value of type int"),
        ("speech", {"right_edge": "maybe"}, "right_edge=maybe: not a value of type bool"),
        ("speech", {"delay": "-1"}, "--evict-opt delay=-1: give 0 or more"),
        ("speech", {"window": "0"}, "--evict-opt window=0: give 1 or more"),
        ("speech", {"sinks": "-2"}, "--evict-opt sinks=-2: give 0 or more"),
        ("speech", {"rate": "0"}, "--evict-opt rate=0: give more than 0"),
        ("speech", {"rate": "nan"}, "--evict-opt rate=nan: give more than 0"),
        ("speech", {"rate": "inf"}, "--evict-opt rate=inf: give more than 0"),
        ("output", {"window": "0"}, "--evict-opt window=0: give 1 or more"),
        ("output", {"sinks": "-1"}, "--evict-opt sinks=-1: give 0 or more"),
    ],
)
def test_options_when_wrong_then_usage_error_names_them(
    policy: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        build_policy(policy, options, RATES)


def test_policy_when_unknown_then_usage_error_lists_the_known() -> None:
    known = f"known: {', '.join(POLICIES)}"
    with pytest.raises(UsageError, match=rf"--evict speach: .*did you mean speech\?.*{known}"):
        check_policy_name("speach")
    with pytest.raises(UsageError, match=known):
        build_policy("xyzzy", {}, RATES)
