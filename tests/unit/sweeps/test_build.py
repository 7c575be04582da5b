"""A sweep's settings from its grid: which policies its budgets go to."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.audio.discover import InputFile
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.sweeps.build import SweepGrid, settings_for
from murmur_cli.sweeps.grid import ChunkSize, parse_policy
from murmur_cli.sweeps.recordings import SweepAudio, SweepRecording

TALK = SweepRecording(InputFile(Path("talk.wav"), "talk"), "0" * 64, 90.0)
AUDIO = SweepAudio((TALK,), {}, None)
TYPES = {"whisper": "whisper", "speech_llm": "vibevoice_asr"}


@pytest.fixture(params=TYPES)
def policies(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Labels of a sweep's policies, on a Whisper and on a SpeechLLM."""
    choice = ModelChoice("mine", ModelKind.FOLDER, Path("nowhere"), "a test", TYPES[request.param])
    monkeypatch.setattr("murmur_cli.sweeps.build.choose_model", lambda name, device: choice)

    def labels(*evict: str, budgets: tuple[str, ...], sizes: tuple[float, ...] = (30.0,)) -> list:
        grid = SweepGrid(
            ("mine",),
            tuple(map(ChunkSize, sizes)),
            tuple(map(parse_policy, evict)),
            {},
            budgets,
        )
        settings, _ = settings_for(grid, {"device": "cpu"}, AUDIO, print)
        return list(dict.fromkeys(setting.policy.label for setting in settings))

    return labels


def test_budgets_when_some_policies_take_them_then_they_go_to_those(policies) -> None:
    made = policies("none", "output", "c3r", "pyramidkv", budgets=("64", "0.25"))
    assert made == [
        *("none", "output"),
        *("c3r:budget=64", "c3r:budget=0.25"),
        *("pyramidkv:budget=64", "pyramidkv:budget=0.25"),
    ]


def test_budget_when_a_policy_refuses_this_one_then_it_is_said_and_not_left_out(policies) -> None:
    """A budget of the right kind for one policy does not hide that another cannot have it."""
    with pytest.raises(UsageError, match="pyramidkv shares its budget out over the layers"):
        policies("none", "c3r", "pyramidkv", budgets=("0.1,0.2", "0.5"))
    with pytest.raises(UsageError, match="--kv-budget 0: give 1 or more"):
        policies("none", "c3r", "output", budgets=("0.5", "0"))


def test_budgets_when_no_policy_takes_one_then_usage_error_with_the_cure(policies) -> None:
    with pytest.raises(UsageError) as refused:
        policies("none", "both:output_window=9", budgets=("64", "0.25"))
    assert str(refused.value) == (
        "--kv-budget 64,0.25: no policy of the sweep has a budget (none, both:output_window=9); "
        "add one that has, such as --evict c3r"
    )


def test_budgets_when_a_policy_is_wrong_then_that_is_said_first(policies) -> None:
    with pytest.raises(UsageError, match=r"--evict c3rr: unknown policy \(did you mean c3r\?\)"):
        policies("none", "c3rr", budgets=("64",))
    with pytest.raises(UsageError, match="--evict-opt colour: policy 'c3r' has no such option"):
        policies("none", "c3r:colour=red", budgets=("64",))
    with pytest.raises(UsageError, match="budget is varied, too; set it once"):
        policies("none", "c3r:budget=9", budgets=("64",))


@pytest.mark.parametrize("policies", ["speech_llm"], indirect=True)
def test_budgets_when_voxzip_drops_nothing_then_it_has_none(
    policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("murmur_cli.asr.registry._check_anchors", lambda *_: None)
    made = policies("none", "voxzip:stages=1", "voxzip:stages=2", budgets=("64",))
    assert made == ["none", "voxzip:stages=1", "voxzip:budget=64,stages=2"]


def test_embedded_model_when_it_was_never_converted_then_its_heads_are_known_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every run needs the conversion, so it comes before the first."""
    folder = tmp_path / "converted"
    choice = ModelChoice("whisper-base", ModelKind.EMBEDDED, folder, "a test")

    def convert(chosen: ModelChoice) -> None:
        chosen.location.mkdir()
        config = '{"decoder_layers": 6, "decoder_attention_heads": 8}'
        (chosen.location / "config.json").write_text(config, encoding="utf-8")

    monkeypatch.setattr("murmur_cli.sweeps.build.choose_model", lambda name, device: choice)
    monkeypatch.setattr("murmur_cli.sweeps.build.prepare", convert)
    policy = parse_policy("c3r:budget=0.1;0.2")
    grid = SweepGrid(("auto",), (ChunkSize(30.0),), (policy,), {})
    with pytest.raises(UsageError, match="and the model has 6 layers of 8 KV heads"):
        settings_for(grid, {"device": "cpu"}, AUDIO, print)
