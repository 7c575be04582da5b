from __future__ import annotations

import re

import pytest

from murmur_cli.engine.policies.align_window import AlignWindow
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.registry import POLICIES, build_policy, check_policy_name
from murmur_cli.engine.policies.speech_window import SpeechWindow
from murmur_cli.engine.policies.streaming_window import StreamingWindow
from murmur_cli.errors import UsageError

RATES = RequestRates(50.0, 7.0, 30.0, has_alignment_heads=True)


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


def test_options_when_one_rule_has_both_regions_then_one_set() -> None:
    policy = build_policy("streaming", {"sinks": "1", "window": "30"}, RATES)
    assert policy.speech == policy.output == StreamingWindow(1, 30)


def test_options_when_align_is_joined_with_output_then_each_has_its_own() -> None:
    options = {"before": "30", "min_mass": "0.25", "window": "12", "speech_sinks": "3"}
    policy = build_policy("align+output", options, RATES)
    assert isinstance(policy.speech, AlignWindow)
    assert (policy.speech.before, policy.speech.min_mass, policy.speech.sinks) == (30, 0.25, 3)
    assert policy.output == OutputWindow(4, 12)


def test_streaming_when_speech_has_no_order_then_usage_error_names_the_cure() -> None:
    rates = RequestRates(50.0, 7.0, 30.0, speech_is_causal=False)
    with pytest.raises(UsageError, match=r"--evict streaming: .*use output, speech or align"):
        build_policy("streaming", {}, rates)


def test_align_when_no_heads_follow_the_audio_then_usage_error_names_the_cure() -> None:
    with pytest.raises(UsageError, match=r"--evict align: .*; use speech"):
        build_policy("align", {}, RequestRates(7.5, 9.0, 300.0))


@pytest.mark.parametrize(
    ("policy", "options", "message"),
    [
        ("both", {"window": "5"}, "write speech_window or output_window; policy 'both' has both"),
        ("none", {"window": "5"}, "policy 'none' has no such option; it has: none"),
        ("output", {"windw": "5"}, r"--evict-opt windw: .*did you mean window\?"),
        ("output", {"WINDOW": "5"}, r"--evict-opt WINDOW: .*did you mean window\?"),
        ("c3r", {"REFRESH": "5"}, r"--evict-opt REFRESH: .*did you mean refresh\?"),
        ("output", {"delay": "5"}, "policy 'output' has no such option"),
        ("output", {"speech_window": "5"}, "policy 'output' has no such option"),
        ("speech", {"delay": "soon"}, "--evict-opt delay=soon: give a whole number"),
        ("speech", {"delay": "1.5"}, "--evict-opt delay=1.5: give a whole number"),
        ("speech", {"right_edge": "maybe"}, "right_edge=maybe: give true or false"),
        ("speech", {"delay": "-1"}, "--evict-opt delay=-1: give 0 or more"),
        ("speech", {"window": "0"}, "--evict-opt window=0: give 1 or more"),
        ("speech", {"sinks": "-2"}, "--evict-opt sinks=-2: give 0 or more"),
        ("speech", {"rate": "0"}, "--evict-opt rate=0: give more than 0"),
        ("speech", {"rate": "nan"}, "--evict-opt rate=nan: give more than 0"),
        ("speech", {"rate": "inf"}, "--evict-opt rate=inf: give more than 0"),
        ("speech", {"tail_sinks": "-1"}, "--evict-opt tail_sinks=-1: give 0 or more"),
        ("align", {"before": "-1"}, "--evict-opt before=-1: give 0 or more"),
        ("align", {"after": "0"}, "--evict-opt after=0: give 1 or more"),
        ("align", {"tail_sinks": "-3"}, "--evict-opt tail_sinks=-3: give 0 or more"),
        ("align", {"max_spread": "0"}, "--evict-opt max_spread=0: give more than 0"),
        ("align", {"max_spread": "nan"}, "--evict-opt max_spread=nan: give more than 0"),
        ("align", {"min_mass": "1.5"}, "--evict-opt min_mass=1.5: give 0 to 1"),
        ("align", {"window": "5"}, "policy 'align' has no such option"),
        ("align+output", {"sinks": "5"}, "write speech_sinks or output_sinks"),
        (
            "speech",
            {"speech_window": "5", "window": "7"},
            "--evict-opt window: the same option is given in its other form",
        ),
        ("streaming", {"window": "0"}, "--evict-opt window=0: give 1 or more"),
        ("streaming", {"sinks": "-1"}, "--evict-opt sinks=-1: give 0 or more"),
        ("streaming", {"output_sinks": "1"}, "policy 'streaming' has no such option"),
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
    known = re.escape(f"known: {', '.join(POLICIES)}")
    with pytest.raises(UsageError, match=rf"--evict speach: .*did you mean speech\?.*{known}"):
        check_policy_name("speach")
    with pytest.raises(UsageError, match=known):
        build_policy("xyzzy", {}, RATES)
