"""`[[kv_budget]]` of a recipe: written by calibrate, read by `--kv-budget auto`."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.asr.registry import with_measured_budget
from murmur_cli.calibration.recipe_text import recipe_text
from murmur_cli.calibration.run import Calibration
from murmur_cli.commands.recipe_option import shares_for_auto
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.recipe_file import read_recipe
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types.kv_shares import HeadSpread, KvShares

SHARES = ((0.1, 0.2), (), (0.5, 0.05))
SPREADS = tuple(tuple(HeadSpread(share / 2, 0.9) for share in layer) for layer in SHARES)


def made(model: str = "whisper-base") -> Calibration:
    return Calibration(KvShares(model, 0.2125, SHARES, ""), SPREADS, steps=87, recordings=1)


def choice(name: str) -> ModelChoice:
    return ModelChoice(name, ModelKind.FOLDER, Path("nowhere"), "a test")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "recipes"
    folder.mkdir(parents=True)
    return folder


def test_recipe_when_written_then_read_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(recipe_text("own", made(), "c3r", ["talk", "panel"]), encoding="utf-8")
    recipe = read_recipe(path)
    assert recipe.kv_shares == (KvShares("whisper-base", 0.2125, SHARES, "own"),)
    assert recipe.options["transcribe"] == {
        "model": "whisper-base",
        "evict": "c3r",
        "kv_budget": "auto",
    }
    assert recipe.about == (
        "0.2125 of the speech on average, by the entropy of 87 decoded tokens' attention"
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("mean = 0.1", "a kv_budget needs a model"),
        ("model = 'm'\nmean = 2\nshares = [[0.1]]", "mean must be above 0 and at most 1"),
        ("model = 'm'\nmean = true\nshares = [[0.1]]", "mean must be above 0"),
        ("model = 'm'\nmean = 0.1", "shares must be a list for each layer"),
        ("model = 'm'\nmean = 0.1\nshares = [0.1]", "shares must be a list for each layer"),
        ("model = 'm'\nmean = 0.1\nshares = [[0.1, 1.5]]", "numbers above 0 and at most 1"),
        ("model = 'm'\nmean = 0.1\nshares = [[], []]", "run 'murmur calibrate' again"),
    ],
)
def test_budget_when_wrong_then_one_line_that_names_the_file(
    row: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "own.toml"
    path.write_text(f"[[kv_budget]]\n{row}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=message) as refused:
        read_recipe(path)
    assert "own.toml" in str(refused.value)


def test_auto_when_asked_for_then_the_recipe_goes_before_the_store(
    store: Path, tmp_path: Path
) -> None:
    (store / "kept.toml").write_text(recipe_text("kept", made(), "c3r", []), encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(recipe_text("own", made("./model"), "c3r", []), encoding="utf-8")
    assert [one.source for one in shares_for_auto("auto", str(own))] == ["own", "kept"]
    assert [one.source for one in shares_for_auto("auto", None)] == ["kept"]
    assert shares_for_auto("0.25", str(own)) == ()


def test_auto_when_the_model_was_measured_then_its_shares_as_text() -> None:
    measured = (KvShares("other", 0.1, ((0.1,),), "a"), KvShares("whisper-base", 0.2, SHARES, "b"))
    settings = TranscribeSettings(evict="c3r+output", kv_budget="auto", kv_shares=measured)
    found = with_measured_budget(choice("whisper-base"), settings)
    assert found.policy_options == {"budget": "0.1,0.2;;0.5,0.05"}
    fixed = TranscribeSettings(evict="c3r", kv_budget="0.1")
    assert with_measured_budget(choice("whisper-base"), fixed) is fixed


def test_auto_when_nothing_was_measured_then_usage_error_with_the_cure() -> None:
    measured = (KvShares("other", 0.1, ((0.1,),), "a"),)
    settings = TranscribeSettings(evict="c3r", kv_budget="auto", kv_shares=measured)
    with pytest.raises(UsageError) as error:
        with_measured_budget(choice("whisper-base"), settings)
    assert str(error.value) == (
        "--kv-budget auto: no recipe has budgets of whisper-base (there are some of other); run "
        "'murmur calibrate RECORDING --model whisper-base --write-recipe NAME', then give "
        "--recipe NAME"
    )


def test_auto_when_the_policy_has_no_budget_then_usage_error() -> None:
    settings = TranscribeSettings(evict="speech", kv_budget="auto")
    with pytest.raises(UsageError, match="--kv-budget auto: policy 'speech' chooses by position"):
        with_measured_budget(choice("whisper-base"), settings)


def test_auto_when_the_recipe_has_shares_of_other_heads_then_it_is_named(tmp_path: Path) -> None:
    config = '{"decoder_layers": 2, "decoder_attention_heads": 8}'
    (tmp_path / "config.json").write_text(config, encoding="utf-8")
    folder = ModelChoice("mine", ModelKind.FOLDER, tmp_path, "a test")
    measured = KvShares("mine", 0.2125, SHARES, "kept")
    settings = TranscribeSettings(evict="c3r", kv_budget="auto", kv_shares=(measured,))
    with pytest.raises(UsageError) as refused:
        with_measured_budget(folder, settings)
    assert str(refused.value) == (
        "recipe kept: --kv-budget: has shares for 2 layers of 2 KV heads, and the model has 2 "
        "layers of 8 KV heads; run 'murmur calibrate' with this model"
    )


@pytest.mark.parametrize("typed", ["./mine", "/models/mine"])
def test_auto_when_the_model_is_a_folder_then_its_whole_path_counts(typed: str) -> None:
    folder = ModelChoice(typed, ModelKind.FOLDER, Path("/models/mine"), "a test")
    elsewhere = ModelChoice("./mine", ModelKind.FOLDER, Path("/other/mine"), "a test")
    measured = KvShares("/models/mine", 0.2125, SHARES, "own")
    settings = TranscribeSettings(evict="c3r", kv_budget="auto", kv_shares=(measured,))
    assert with_measured_budget(folder, settings).kv_budget == "0.1,0.2;;0.5,0.05"
    with pytest.raises(UsageError, match="no recipe has budgets of"):
        with_measured_budget(elsewhere, settings)
