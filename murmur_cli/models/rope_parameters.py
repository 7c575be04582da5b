"""Rotary positions in a model's config.json, checked before a library stumbles over them.

transformers reports a wrong one as a page of its types, or only when a position is computed, or
never: numbers of zero and below load, and give nothing but noise.

Source: transformers 5.24, `modeling_rope_utils.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

KEYS = ("rope_parameters", "rope_scaling")
"""Today's name and the older one."""

THETA = "rope_theta"
POSITIVE = (
    *(THETA, "factor", "attention_factor", "partial_rotary_factor", "beta_fast", "beta_slow"),
    *("low_freq_factor", "high_freq_factor", "original_max_position_embeddings"),
)
LISTS = ("short_factor", "long_factor", "mrope_section")
NEEDED: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "linear": ("factor",),
    "dynamic": ("factor",),
    "yarn": ("factor",),
    "longrope": ("short_factor", "long_factor"),
    "llama3": ("factor", "low_freq_factor", "high_freq_factor"),
    "proportional": (),
}
"""Kind of positions -> what it cannot do without."""

UNUSED = "vision_config"
"""Nothing is looked at."""


def wrong_rope(config: Mapping[str, Any], place: str = "") -> str | None:
    """The first key that cannot be meant, with what is wrong with it; None if all is well.

    config: a config.json, or the part of it that is used; place: where that stands in the file.
    """
    return next(_faults(config, place), None)


def _faults(config: Mapping[str, Any], place: str) -> Iterator[str]:
    for key, value in config.items():
        path = f"{place}{key}"
        if key in KEYS and value is not None:
            yield from _faults_of_table(value, path)
        elif key == THETA and value is not None:
            yield from _faults_of_entry(key, value, path)
        elif isinstance(value, dict) and key != UNUSED:
            yield from _faults(value, f"{path}.")


def _faults_of_table(table: object, path: str) -> Iterator[str]:
    if not isinstance(table, dict):
        yield f"{path} is {_shown(table)}, where a table is due"
        return
    if any(isinstance(one, dict) for one in table.values()):
        # One table for each kind of layer.
        for kind, one in table.items():
            if one is not None:
                yield from _faults_of_table(one, f"{path}.{kind}")
        return
    named = table.get("rope_type", table.get("type", "default"))
    if not isinstance(named, str) or named not in NEEDED:
        yield f"{path}.rope_type is {_shown(named)}; known are {', '.join(NEEDED)}"
        return
    for key in NEEDED[named]:
        if key not in table:
            yield f"{path}.{key} is missing, which rope_type '{named}' needs"
    for key, value in table.items():
        if value is not None:
            yield from _faults_of_entry(key, value, f"{path}.{key}")


def _faults_of_entry(key: str, value: object, path: str) -> Iterator[str]:
    if key in POSITIVE and not _is_positive(value):
        yield f"{path} is {_shown(value)}, where a number above 0 is due"
    if key in LISTS and not (isinstance(value, list) and value and all(map(_is_positive, value))):
        yield f"{path} is {_shown(value)}, where a list of numbers above 0 is due"


def _is_positive(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < math.inf  # type: ignore[operator]  # it is a number


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:39]}…"
