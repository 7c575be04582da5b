"""Recipe files: what is taken, what is refused in one line, where names are looked up."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.recipe_file import find_recipe, read_recipe, stored_curves, toml_value
from murmur_cli.sweeps.recipe_text import recipe_path, recipe_text
from murmur_cli.types.audio_kind import AudioKind, ChunkCurve
from support.sweep_results import chunk_sweep


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "recipes"
    folder.mkdir(parents=True)
    return folder


def write(folder: Path, text: str, name: str = "own.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transcibe = 1", r"did you mean transcribe\?"),
        ("transcribe = 1", "'transcribe' must be a table"),
        ("published = {}", "must be a list"),
        ("name = 3", "must be text"),
        ("a = [", "not TOML"),
        ("[[chunk_curve]]\nkind = 'noisy'", "needs a model"),
        ("[[chunk_curve]]\nmodel = 'm'\nkind = 'loud'", "kind must be clean, noisy"),
        ("[[chunk_curve]]\nmodel = 'm'\nkind = 'noisy'\nchunk = 0", "at least 1, or 'full'"),
        ("[[chunk_curve]]\nmodel = 'm'\nkind = 'noisy'\nchunk = true", "must be seconds"),
    ],
)
def test_recipe_when_wrong_then_one_line_that_names_the_file(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        read_recipe(write(tmp_path, text))
    assert "own.toml" in str(refused.value)


def test_recipe_when_not_there_then_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        read_recipe(tmp_path / "none.toml")


def test_find_when_a_bare_name_then_the_store_goes_before_the_checkout(store: Path) -> None:
    assert find_recipe("whisper-base").parent.name == "recipes"
    own = write(store, "", "whisper-base.toml")
    assert find_recipe("whisper-base") == own
    assert find_recipe("./whisper-base.toml") == Path("./whisper-base.toml")


def test_find_when_unknown_then_the_near_name(store: Path) -> None:
    write(store, "", "mine.toml")
    with pytest.raises(UsageError, match=r"did you mean mine\?"):
        find_recipe("mien")


def test_curves_when_stored_then_of_all_files_in_order_of_names(store: Path) -> None:
    row = "[[chunk_curve]]\nmodel = 'm'\nkind = 'clean'\nchunk = {}\n"
    write(store, row.format("'full'"), "b.toml")
    write(store, row.format(60), "a.toml")
    assert stored_curves() == (
        ChunkCurve("m", AudioKind.CLEAN, 60.0, "a"),
        ChunkCurve("m", AudioKind.CLEAN, None, "b"),
    )


def test_sweep_recipe_when_written_then_it_reads_as_what_was_recommended(tmp_path: Path) -> None:
    result = chunk_sweep({60.0: (90.0, 300), 300.0: (100.8, 252), None: (370.7, 249)})
    path = write(tmp_path, recipe_text("mine", result, {"talk": AudioKind.NOISY}))
    recipe = read_recipe(path)
    assert recipe.name == "mine"
    assert recipe.options["transcribe"] == {
        "model": "whisper-base",
        "chunk": "300",
        "evict": "none",
    }
    assert recipe.curves == (ChunkCurve("whisper-base", AudioKind.NOISY, 300.0, "mine"),)
    (row,) = tomllib.loads(path.read_text("utf-8"))["chunk_curve"]
    assert row["metric"] == "tcpwer"
    assert [(point["chunk"], point["percent"]) for point in row["point"]] == [
        ("60", 30.0),
        ("300", 25.2),
        ("full", 24.9),
    ]


def test_recipe_path_when_a_bare_name_then_in_the_store(store: Path) -> None:
    assert recipe_path("mine") == store / "mine.toml"
    assert recipe_path("here/mine.toml") == Path("here/mine.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("./talk.wav", "--write-recipe ./talk.wav: give a name, or a file that ends in .toml"),
        ("", "--write-recipe '': give a name, or a file that ends in .toml"),
        (".", "--write-recipe .: is a folder"),
    ],
)
def test_recipe_path_when_no_recipe_then_usage_error(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        recipe_path(text)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize("value", ['a "b" \\ \n é 𝄞 \x7f', True, 3, 0.25, ["a", "b=1"]])
def test_toml_value_when_read_back_then_the_same(value: object) -> None:
    assert tomllib.loads(f"key = {toml_value(value)}") == {"key": value}
