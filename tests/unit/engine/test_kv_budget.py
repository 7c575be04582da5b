"""`--kv-budget`, and the rules that have one."""

from __future__ import annotations

import pytest

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.registry import RETRIEVAL, build_policy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.engine.regions import RowView
from murmur_cli.errors import UsageError
from murmur_cli.settings import TranscribeSettings

RATES = RequestRates(50.0, 7.0, 30.0)


@pytest.mark.parametrize(
    ("text", "entries", "wanted"),
    [
        ("256", 1500, 256),
        ("256", 100, 256),
        ("0.25", 1500, 375),
        ("0.25", 1501, 375),  # never more than the share
        ("0.25", 3, 1),
        ("1.0", 1500, 1500),
        ("1", 1500, 1),
    ],
)
def test_budget_when_parsed_then_entries_of_a_row(text: str, entries: int, wanted: int) -> None:
    assert KvBudget.parse(text).of(entries) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0", "--kv-budget 0: give 1 or more entries"),
        ("-3", "--kv-budget -3: give 1 or more entries"),
        ("0.0", "--kv-budget 0: a share is above 0"),
        ("1.5", "--kv-budget 1.5: a share is above 0 and at most 1"),
        ("nan", "--kv-budget nan: a share is above 0"),
        ("many", "--kv-budget many: give entries, such as 256, or a share, such as 0.25"),
    ],
)
def test_budget_when_wrong_then_usage_error_says_what_to_give(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        KvBudget.parse(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("name", RETRIEVAL)
def test_rule_when_budget_covers_the_row_then_reads_all_and_else_asks_the_index(name: str) -> None:
    policy = build_policy(name, {"budget": "100"}, RATES)
    assert policy.select(RowView(1, 100, 1)).speech == ((0, 100),)
    assert policy.select(RowView(1, 101, 1)).speech is None


@pytest.mark.parametrize("name", RETRIEVAL)
def test_policy_when_joined_with_output_then_both_rules(name: str) -> None:
    policy = build_policy(f"{name}+output", {"budget": "0.5", "output_window": "7"}, RATES)
    rule = retrieval_of(policy)
    assert rule is not None
    assert rule.budget == KvBudget(share=0.5)
    assert isinstance(policy.output, OutputWindow)
    assert policy.output.window == 7


def test_budget_when_policy_goes_by_position_then_usage_error_names_those_that_have_one() -> None:
    with pytest.raises(UsageError, match=r"--kv-budget 256: policy 'speech' .*c3, c3r, quest"):
        build_policy("speech", {"budget": "256"}, RATES)


def test_settings_when_budget_is_given_then_it_is_an_option_of_the_policy() -> None:
    settings = TranscribeSettings(evict="c3", evict_options={"leaf": "4"}, kv_budget="256")
    assert settings.policy_options == {"leaf": "4", "budget": "256"}
    with pytest.raises(UsageError, match="give one of them"):
        TranscribeSettings(evict="c3", evict_options={"budget": "1"}, kv_budget="256")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("c3", {"rank": "size"}, "--evict-opt rank=size: give one of cosine, dot, mass"),
        ("c3", {"metric": "l1"}, "--evict-opt metric=l1: give one of cosine, euclidean"),
        ("c3", {"granularity": "0"}, "--evict-opt granularity=0: give 1 or more"),
        ("c3", {"decay": "2"}, "--evict-opt decay=2: give 0 to 1"),
        ("quest", {"refresh": "0"}, "--evict-opt refresh=0: give 1 or more"),
        ("quest", {"score": "max"}, "--evict-opt score=max: give one of minmax, mean"),
        ("unique", {"weight": "-1"}, "--evict-opt weight=-1: give 0 or more"),
        ("snapkv", {"kernel": "4"}, "--evict-opt kernel=4: give an odd number"),
        ("pyramidkv", {"beta": "0"}, "--evict-opt beta=0: give 1 or more"),
        ("chunkkv", {"chunk": "0"}, "--evict-opt chunk=0: give 1 or more"),
        ("h2o", {"warm_up": "-1"}, "--evict-opt warm_up=-1: give 0 or more"),
        ("voxzip", {"scope": "head"}, "--evict-opt scope=head: give one of layer, kv_head"),
        ("voxzip", {"stages": "3"}, "--evict-opt stages=3: give one of 1, 2, both"),
        ("voxzip", {"confidence": "2"}, "--evict-opt confidence=2: give 0 to 1"),
        ("clusterkv", {"cluster": "0"}, "--evict-opt cluster=0: give 1 or more"),
    ],
)
def test_option_when_wrong_then_usage_error(
    name: str, options: dict[str, str], message: str
) -> None:
    with pytest.raises(UsageError) as error:
        build_policy(name, options, RATES)
    assert str(error.value) == message


def test_warm_up_when_speech_has_a_cache_of_its_own_then_on_by_default() -> None:
    cross = RequestRates(50.0, 7.0, 30.0, speech_is_causal=False)
    for name in ("h2o", "voxzip"):
        assert build_policy(name, {}, RATES).speech.warm_up == 0  # type: ignore[attr-defined]
        assert build_policy(name, {}, cross).speech.warm_up == 16  # type: ignore[attr-defined]


CROSS = RequestRates(50.0, 7.0, 30.0, speech_is_causal=False)


def test_voxzip_when_not_told_then_both_stages_where_one_text_model_reads_speech_and_text() -> None:
    rule = build_policy("voxzip", {}, RATES).speech
    assert isinstance(rule, VoxZip)
    assert (rule.stages, rule.groups_speech, rule.has_index) == ("both", True, True)
    rule = build_policy("voxzip", {}, CROSS).speech
    assert isinstance(rule, VoxZip)
    assert (rule.stages, rule.groups_speech, rule.has_index) == ("2", False, True)


@pytest.mark.parametrize("stages", ["1", "both"])
def test_voxzip_when_first_stage_has_no_place_then_usage_error_says_why(stages: str) -> None:
    with pytest.raises(UsageError) as error:
        build_policy("voxzip", {"stages": stages}, CROSS)
    assert str(error.value) == (
        f"--evict-opt stages={stages}: stage 1 of voxzip puts text embeddings among speech "
        "embeddings, and Whisper's decoder reads them in different places; stages=2 is defined "
        "for it"
    )


def test_voxzip_when_first_stage_alone_then_all_that_is_left_is_read_and_no_index_is_made() -> None:
    policy = build_policy("voxzip", {"stages": "1"}, RATES)
    assert retrieval_of(policy) is None
    assert policy.select(RowView(1, 5000, 1)).speech == ((0, 5000),)
    with pytest.raises(UsageError, match="stage 1 of voxzip drops nothing"):
        build_policy("voxzip", {"stages": "1", "budget": "0.25"}, RATES)


@pytest.mark.parametrize(
    "options",
    [
        {"stages": "1", "decay": "0.9"},
        {"stages": "2", "anchor_model": "whisper-tiny.en"},
        {"stages": "2", "speech_confidence": "0.5"},
    ],
)
def test_voxzip_when_an_option_is_of_the_stage_left_out_then_usage_error(
    options: dict[str, str],
) -> None:
    with pytest.raises(UsageError, match=r"of the stage of voxzip that stages=. leaves out"):
        build_policy("voxzip", options, RATES)
