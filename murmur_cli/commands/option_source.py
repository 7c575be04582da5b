"""Where the value of an option comes from: this call, a recipe, or neither."""

from __future__ import annotations

import typer


def is_typed(context: typer.Context, name: str) -> bool:
    """Whether the call itself gave the option; `name` is that of its parameter."""
    return _source(context, name) == "COMMANDLINE"


def is_of_recipe(context: typer.Context, name: str) -> bool:
    """Whether a recipe gave it, which the call did not overrule."""
    return _source(context, name) == "DEFAULT_MAP"


def _source(context: typer.Context, name: str) -> str:
    # By its name: the enumeration is click's or typer's own copy of it, by typer's version.
    source = context.get_parameter_source(name)
    return source.name if source is not None else ""
