from __future__ import annotations

import pytest

from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.bench.engine_setting import COVERING, EngineSetting, covering, parse_settings
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.engine.regions import RowView, Selection
from murmur_cli.errors import UsageError


def test_settings_when_named_then_none_comes_first_and_options_go_to_their_policy() -> None:
    settings = parse_settings("speech, output", ["speech.window=300", "speech.delay = 0"])
    assert settings == (
        EngineSetting("none"),
        EngineSetting("speech", {"window": "300", "delay": "0"}),
        EngineSetting("output"),
    )
    assert settings[1].name == "speech window=300 delay=0"


@pytest.mark.parametrize(
    ("evict", "option", "message"),
    [
        ("spech", None, r"did you mean speech\?"),
        ("C3R", None, r"--evict C3R: unknown policy \(did you mean c3r\?\)"),
        ("speech", "window=3", "write POLICY.KEY=VALUE"),
        ("speech", "speech.window", "write POLICY.KEY=VALUE"),
        ("speech", "spech.window=3", r"'spech' is not in --evict \(did you mean speech\?\)"),
    ],
)
def test_settings_when_wrong_then_usage_error(evict: str, option: str | None, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_settings(evict, [option] if option else [])


def test_covering_when_a_policy_is_registered_then_it_has_options_that_evict_nothing() -> None:
    assert set(COVERING) == set(POLICIES)


@pytest.mark.parametrize("policy", sorted(set(POLICIES) - {"streaming"}))
def test_covering_when_decoding_to_the_end_then_everything_is_read(policy: str) -> None:
    setting = covering(policy, 1500, 100)
    built = build_policy(setting.policy, setting.options, WHISPER_RATES)
    for step in (1, 60, 100):
        found = built.select(RowView(step, 1500, step))
        assert found == Selection(((0, 1500),), ((0, step),))
