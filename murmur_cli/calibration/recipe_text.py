"""A calibration as a recipe for `murmur transcribe --recipe`."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.calibration.run import Calibration
from murmur_cli.recipe_file import toml_value


def recipe_text(name: str, made: Calibration, evict: str, heard: Sequence[str]) -> str:
    """The recipe: the policy with `--kv-budget auto`, the shares, and what they come from.

    evict: the policy to suggest. heard: names of the recordings.
    """
    shares = made.shares
    about = (
        f"{shares.mean:g} of the speech on average, by the entropy of {made.steps} decoded "
        f"tokens' attention"
    )
    lines = [
        "# Written by murmur calibrate.",
        f"name = {toml_value(name)}",
        f"about = {toml_value(about)}",
        "",
        "[transcribe]",
        f"model = {toml_value(shares.model)}",
        f"evict = {toml_value(evict)}",
        'kv_budget = "auto"',
        "",
        "[[kv_budget]]",
        f"model = {toml_value(shares.model)}",
        f"mean = {toml_value(shares.mean)}",
        f"recordings = {toml_value(list(heard))}",
        *_table("shares", shares.shares),
        "# How far attention spreads: exp(entropy) / entries, and the part of it on speech.",
        *_table("spread", [[round(head.share, 4) for head in layer] for layer in made.spreads]),
        *_table("mass", [[round(head.mass, 4) for head in layer] for layer in made.spreads]),
    ]
    return "\n".join(lines) + "\n"


def _table(key: str, rows: Sequence[Sequence[float]]) -> list[str]:
    """An array of arrays, one line for each layer."""
    return [f"{key} = [", *(f"  {toml_value(list(row))}," for row in rows), "]"]
