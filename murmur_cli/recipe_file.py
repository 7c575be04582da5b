"""Recipes: TOML files with the options of `transcribe` and `score`, and what sweeps found.

`[transcribe]` and `[score]` hold options by their long names with '_' for '-'. `[data]` and
`[[published]]` are read by the scripts in recipes/data. `[[chunk_curve]]` is what
`sweep-chunks --write-recipe` writes, `[[kv_budget]]` what `calibrate` does.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import UsageError
from murmur_cli.models.cache_folder import cache_folder
from murmur_cli.near_name import did_you_mean
from murmur_cli.types.audio_kind import AudioKind, ChunkCurve
from murmur_cli.types.kv_shares import KvShares

ENDING = ".toml"
TABLES = ("transcribe", "score", "data")
LISTS = ("chunk_curve", "kv_budget", "published")
TEXTS = ("name", "about")
FULL = "full"
SHIPPED = Path(__file__).parents[1] / "recipes"


@dataclass(frozen=True, slots=True)
class RecipeFile:
    """A recipe.

    Attributes:
        name: as it calls itself, else as its file is called.
        options: table → option → value, of `transcribe` and `score`.
        curves: sizes of chunks that suit a model and kind of audio.
        kv_shares: budgets of the speech cache that suit a model's heads.
        data, published: as in the file.
    """

    name: str
    about: str
    options: Mapping[str, Mapping[str, Any]]
    curves: tuple[ChunkCurve, ...] = ()
    kv_shares: tuple[KvShares, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    published: tuple[Mapping[str, Any], ...] = ()


def store_folder() -> Path:
    """Where recipes with a bare name are kept for this user."""
    return cache_folder() / "recipes"


def is_bare_name(text: str) -> bool:
    """Whether it names a recipe of the store or of the checkout, and not a file."""
    return not text.endswith(ENDING) and "/" not in text and "\\" not in text


def find_recipe(text: str) -> Path:
    """The file that a name or a path means: a path as it is; a name first in the user's store,
    then among the recipes of a checkout.

    Raises:
        UsageError: there is none; the known names are listed.
    """
    if not is_bare_name(text):
        return Path(text)
    for folder in (store_folder(), SHIPPED):
        path = folder / f"{text}{ENDING}"
        if path.is_file():
            return path
    known = sorted(
        {path.stem for folder in (store_folder(), SHIPPED) for path in folder.glob(f"*{ENDING}")}
    )
    hint = did_you_mean(text, known)
    listed = f" known: {', '.join(known)}, or" if known else ""
    raise UsageError(f"--recipe {text}: no such recipe{hint};{listed} a file that ends in {ENDING}")


def read_recipe(path: Path) -> RecipeFile:
    """The recipe in a file. Options are checked by the command that takes them.

    Raises:
        UsageError: it cannot be read, is no TOML, or has an unknown key or a wrong value.
    """
    where = f"recipe {path_text(path)}"
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{where}: cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: not TOML: {error}") from error
    known = (*TEXTS, *TABLES, *LISTS)
    for key, value in content.items():
        if key not in known:
            hint = did_you_mean(key, known)
            raise UsageError(f"{where}: unknown key '{key}'{hint}; known: {', '.join(known)}")
        kind = dict if key in TABLES else list if key in LISTS else str
        if not isinstance(value, kind):
            raise UsageError(f"{where}: '{key}' must be {_WORDS[kind]}")
    name = content.get("name", path.stem)
    return RecipeFile(
        name=name,
        about=content.get("about", ""),
        options={key: content.get(key, {}) for key in ("transcribe", "score")},
        curves=tuple(_curve(row, name, where) for row in content.get("chunk_curve", [])),
        kv_shares=tuple(_kv_shares(row, name, where) for row in content.get("kv_budget", [])),
        data=content.get("data", {}),
        published=tuple(content.get("published", [])),
    )


def stored_curves() -> tuple[ChunkCurve, ...]:
    """The curves of all recipes in the user's store, in order of the files' names.

    Raises:
        UsageError: one of them cannot be read.
    """
    return tuple(curve for recipe in _stored() for curve in recipe.curves)


def stored_kv_shares() -> tuple[KvShares, ...]:
    """The measured budgets of all recipes in the user's store, in order of the files' names.

    Raises:
        UsageError: one of them cannot be read.
    """
    return tuple(shares for recipe in _stored() for shares in recipe.kv_shares)


def _stored() -> Iterator[RecipeFile]:
    yield from map(read_recipe, sorted(store_folder().glob(f"*{ENDING}")))


def toml_value(value: object) -> str:
    """A value as TOML writes it: text, number, truth or a list of them."""
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(one) for one in value) + "]"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


_WORDS: dict[type, str] = {dict: "a table", list: "a list of tables", str: "text"}


def _curve(row: object, source: str, where: str) -> ChunkCurve:
    """One row; points and what else it says are for people."""
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        raise UsageError(f"{where}: a chunk_curve needs a model")
    try:
        kind = AudioKind(row.get("kind", ""))
    except ValueError:
        raise UsageError(f"{where}: chunk_curve: kind must be {', '.join(AudioKind)}") from None
    chunk = row.get("chunk")
    if chunk == FULL:
        return ChunkCurve(row["model"], kind, None, source)
    if isinstance(chunk, bool) or not isinstance(chunk, int | float) or chunk < 1:
        raise UsageError(f"{where}: chunk_curve: chunk must be seconds, at least 1, or '{FULL}'")
    return ChunkCurve(row["model"], kind, float(chunk), source)


def _kv_shares(row: object, source: str, where: str) -> KvShares:
    """One row; spread, mass and recordings are for people."""
    if not isinstance(row, dict) or not isinstance(row.get("model"), str):
        raise UsageError(f"{where}: a kv_budget needs a model")
    mean, table = row.get("mean"), row.get("shares")
    if not _is_share(mean):
        raise UsageError(f"{where}: kv_budget: mean must be above 0 and at most 1")
    layers = table if isinstance(table, list) else [None]
    shares = tuple(_layer_shares(layer, where) for layer in layers)
    if not any(shares):
        raise UsageError(f"{where}: kv_budget: shares are empty; run 'murmur calibrate' again")
    return KvShares(row["model"], float(mean), shares, source)


def _layer_shares(layer: object, where: str) -> tuple[float, ...]:
    if isinstance(layer, list) and all(map(_is_share, layer)):
        return tuple(map(float, layer))
    raise UsageError(
        f"{where}: kv_budget: shares must be a list for each layer, of numbers above 0 and at most "
        "1"
    )


def _is_share(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1
