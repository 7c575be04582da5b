"""A recommendation as a recipe that `transcribe --recipe` reads."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from murmur_cli.recipe_file import read_recipe
from murmur_cli.sweeps.recipe_text import recipe_text
from murmur_cli.types.audio_kind import AudioKind, ChunkCurve
from support.sweep_results import chunk_sweep


def test_recipe_when_a_name_has_a_line_break_then_it_is_still_toml(tmp_path: Path) -> None:
    result = dataclasses.replace(
        chunk_sweep({300.0: (100.0, 250), None: (400.0, 249)}),
        about=("no reference: a\nb, caf\udce9",),
    )
    path = tmp_path / "mine.toml"
    path.write_text(recipe_text("mine", result, {"talk": AudioKind.NOISY}), "utf-8")
    recipe = read_recipe(path)
    assert recipe.options["transcribe"] == {
        "model": "whisper-base",
        "chunk": "300",
        "evict": "none",
    }
    assert recipe.curves == (ChunkCurve("whisper-base", AudioKind.NOISY, 300.0, "mine"),)
