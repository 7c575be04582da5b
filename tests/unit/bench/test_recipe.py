"""Recipes: the shipped ones are whole, others fail in one line."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.bench.contender_process import MURMUR, OWN_WORKERS, PEER_WEIGHTS
from murmur_cli.bench.engine_setting import parse_settings
from murmur_cli.bench.murmur_worker import option_text, settings_of
from murmur_cli.bench.recipe import PARTS, Recipe, read_recipe
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import UsageError

FOLDER = Path(__file__).parents[3] / "recipes" / "bench"
SHIPPED = sorted(FOLDER.glob("*.toml"))
WHOLE_ONLY = ("speakers",)
HEAD = 'name = "x"\nmodel = "whisper-base"\nlanguage = "en"\nthreads = 2\n'


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_recipe_when_read_then_every_part_is_there_and_every_option_is_known(
    path: Path,
) -> None:
    recipe = read_recipe(path)
    there = [part for part in PARTS if getattr(recipe, part) is not None]
    assert there == (["whole"] if path.stem in WHOLE_ONLY else list(PARTS))
    for setting in parse_settings(",".join(recipe.engine.evict), ()) if recipe.engine else ():
        build_policy(setting.policy, setting.options, WHISPER_RATES)
    for point in recipe.curve.setting if recipe.curve else ():
        options = {key: option_text(value) for key, value in point.options.items()}
        build_policy(point.evict, options, WHISPER_RATES)
    for part in filter(None, (recipe.recogniser, recipe.whole)):
        names = [contender.name for contender in part.contender]
        assert part.baseline in names
        assert len(set(names)) == len(names)
        for contender in part.contender:
            assert contender.tool in (*OWN_WORKERS, *PEER_WEIGHTS)
            if contender.tool == MURMUR:
                settings = settings_of(contender.options)
                build_policy(settings.evict, settings.evict_options, WHISPER_RATES)


def read(tmp_path: Path, text: str) -> Recipe:
    path = tmp_path / "own.toml"
    path.write_text(text, encoding="utf-8")
    return read_recipe(path)


def test_recipe_when_a_part_is_left_out_then_it_is_none(tmp_path: Path) -> None:
    recipe = read(tmp_path, HEAD + "[scaling]\nseconds = 5\n")
    assert recipe.scaling is not None
    assert recipe.scaling.seconds == 5
    assert recipe.scaling.factors == [1, 2, 4, 8]
    assert recipe.engine is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "treads = 3\n", r"unknown key 'treads' \(did you mean threads\?\)"),
        (HEAD + "[scaling]\nfactor = [1]\n", r"scaling: unknown key 'factor' \(did you mean fac"),
        (HEAD + "[recogniser]\nbaseline = 'a'\n", "key 'contender' is missing"),
        (HEAD + "[engine]\nevict = []\n", "at least one entry"),
        (HEAD + "[engine]\nevict = ['none']\nrounds = true\n", "must be of type int, not True"),
        (HEAD + "[engine]\nevict = ['none']\nsteps = -1\n", "below 0"),
        (HEAD.replace("2", "'2'"), "threads: must be of type int, not '2'"),
        ("name = ", "not TOML"),
        ("", "key 'name' is missing"),
    ],
)
def test_recipe_when_wrong_then_usage_error_in_one_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_recipe_when_the_file_is_missing_then_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_recipe(tmp_path / "none.toml")


def test_settings_when_a_name_is_unknown_then_a_near_one_is_named() -> None:
    with pytest.raises(UsageError, match=r"'evictt' \(did you mean evict\?\)"):
        settings_of({"evictt": "none"})


def test_settings_when_options_are_numbers_and_truths_then_they_are_text() -> None:
    settings = settings_of({"evict_options": {"window": 300, "right_edge": True, "rate": 8.5}})
    assert settings.evict_options == {"window": "300", "right_edge": "true", "rate": "8.5"}
