"""What a recipe says of its data: where it comes from and how references are made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean
from murmur_cli.recipe_file import RecipeFile, find_recipe, read_recipe

SESSION = "{session}"


@dataclass(frozen=True, slots=True)
class Corpus:
    """The `[data]` table of a recipe.

    Attributes:
        corpus: its name.
        licence: of audio and annotation.
        page: where its owner describes it.
        folder: where it lies, from the root of the checkout.
        kind: how references are made, a name in `prepare.KINDS`.
        sessions: the test list; empty takes every session with a reference.
        expected: how many sessions the list has; a run with fewer says so.
        audio_url: of one session, with '{session}' in it; empty if the audio is in an archive.
        audio_name: name of a session's file in `folder/audio`.
        archives: URLs of files that hold the rest, unpacked in `folder/source`.
        sha256: checksum of an archive by its file's name, where its owner publishes one.
        by_hand: what must be fetched by hand, and where it is put; empty if nothing must.
        metrics: what the references allow, in the order of the table.
    """

    corpus: str
    licence: str
    page: str
    folder: str
    kind: str
    sessions: tuple[str, ...] = ()
    expected: int = 0
    audio_url: str = ""
    audio_name: str = ""
    archives: tuple[str, ...] = ()
    sha256: Mapping[str, str] = dataclasses.field(default_factory=dict)
    by_hand: str = ""
    metrics: tuple[str, ...] = ("wer", "cpwer", "tcpwer", "der")


def corpus_of(recipe: RecipeFile) -> Corpus:
    """The `[data]` of a recipe.

    Raises:
        UsageError: it has none, an unknown key, a key that is missing, or a wrong value.
    """
    where = f"recipe {recipe.name}: data"
    fields = {field.name: field for field in dataclasses.fields(Corpus)}
    if not recipe.data:
        raise UsageError(f"{where}: missing; it is no recipe of a corpus")
    made: dict[str, Any] = {}
    for key, value in recipe.data.items():
        if key not in fields:
            hint = did_you_mean(key, fields)
            raise UsageError(f"{where}: unknown key '{key}'{hint}; known: {', '.join(fields)}")
        made[key] = _value(str(fields[key].type), value, f"{where}.{key}")
    for key in ("corpus", "licence", "page", "folder", "kind"):
        if key not in made:
            raise UsageError(f"{where}: key '{key}' is missing")
    return Corpus(**made)


def read_corpus(text: str) -> tuple[RecipeFile, Corpus]:
    """The recipe of that name or file, and its data.

    Raises:
        UsageError: see `corpus_of`.
    """
    recipe = read_recipe(find_recipe(text))
    return recipe, corpus_of(recipe)


def place_of(corpus: Corpus, root: Path) -> Path:
    """The corpus' folder."""
    return root / corpus.folder


def _value(kind: str, value: object, where: str) -> object:
    if kind.startswith("tuple"):
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise UsageError(f"{where}: must be a list of texts")
        return tuple(value)
    wanted = {"str": str, "int": int}.get(kind, dict)
    if not isinstance(value, wanted) or isinstance(value, bool):
        raise UsageError(f"{where}: must be of type {wanted.__name__}, not {value!r}")
    return value
