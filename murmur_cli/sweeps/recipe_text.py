"""A sweep's recommendation as a recipe for `murmur transcribe --recipe`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from murmur_cli.errors import UsageError
from murmur_cli.recipe_file import ENDING, is_bare_name, store_folder, toml_value
from murmur_cli.sweeps.recommendation import Recommendation, recommend
from murmur_cli.sweeps.results import SweepResult
from murmur_cli.sweeps.summary import comparable
from murmur_cli.types.audio_kind import AudioKind


def recipe_path(text: str) -> Path:
    """Where '--write-recipe TEXT' goes: a bare name into the user's store.

    Raises:
        UsageError: it is no name, a folder, or a file of another kind, such as a recording, which
            would be lost.
    """
    if is_bare_name(text) and text.strip(" ."):
        return store_folder() / f"{text}{ENDING}"
    path = Path(text)
    if text and path.is_dir():
        raise UsageError(f"--write-recipe {text}: is a folder; give a name or a file")
    if path.suffix != ENDING:
        raise UsageError(
            f"--write-recipe {text or repr(text)}: give a name, or a file that ends in {ENDING}"
        )
    return path


def recipe_text(name: str, result: SweepResult, kinds: Mapping[str, AudioKind]) -> str:
    """The recipe: the recommended options, and the best size for each model and kind of audio.

    kinds: session → kind of audio. The result must have a recommendation.
    """
    chosen = result.recommendation
    assert chosen is not None
    lines = [
        "# Written by murmur sweep-chunks."
        if result.by_size
        else "# Written by murmur sweep-evict.",
        *(f"# {_printable(line)}" for line in result.about),
        f"name = {toml_value(name)}",
        f"about = {toml_value(chosen.text)}",
        "",
        "[transcribe]",
        *_options(chosen),
    ]
    if result.by_size:
        lines += _curves(result, kinds)
    return "\n".join(lines) + "\n"


def _printable(line: str) -> str:
    """A line as a comment of TOML takes it, which names of recordings may not be."""
    return "".join(char if char.isprintable() else "?" for char in line)


def _options(chosen: Recommendation) -> Iterator[str]:
    setting = chosen.summary.setting
    yield f"model = {toml_value(setting.model)}"
    yield f"chunk = {toml_value(setting.size.label)}"
    yield f"evict = {toml_value(setting.policy.name)}"
    if setting.policy.options:
        pairs = [f"{key}={value}" for key, value in setting.policy.options]
        yield f"evict_opt = {toml_value(pairs)}"


def _curves(result: SweepResult, kinds: Mapping[str, AudioKind]) -> Iterator[str]:
    """For each model, with the recommended policy, and each kind that was heard."""
    assert result.recommendation is not None
    policy = result.recommendation.summary.setting.policy
    for kind in AudioKind:
        sessions = frozenset(session for session, found in kinds.items() if found is kind)
        summaries = [one for one in result.of_sessions(sessions) if one.results]
        for model in dict.fromkeys(one.setting.model for one in summaries):
            alike = [
                one
                for one in summaries
                if one.setting.model == model and one.setting.policy == policy
            ]
            best = recommend(alike, within=result.within, by_size=True)
            if best is None:
                continue
            size = best.summary.setting.size
            yield from ("", "[[chunk_curve]]", f"model = {toml_value(model)}")
            yield f"kind = {toml_value(kind.value)}"
            yield f"chunk = {toml_value(size.label if size.seconds is None else size.seconds)}"
            yield f"metric = {toml_value(best.metric)}"
            yield f"recordings = {len(sessions)}"
            for one in comparable(alike):
                percent = one.percent(best.metric)
                if percent is not None:
                    yield "[[chunk_curve.point]]"
                    yield f"chunk = {toml_value(one.setting.size.label)}"
                    yield f"percent = {round(percent, 3)}"
                    yield f"wall_s = {round(one.wall_s, 3)}"
