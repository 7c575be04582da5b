"""`--recipe`: defaults of a command from a file; options that are given win over it."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from murmur_cli.commands.option_source import is_of_recipe
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.near_name import did_you_mean

if TYPE_CHECKING:
    from murmur_cli.types.audio_kind import ChunkCurve
    from murmur_cli.types.kv_shares import KvShares

NOT_IN_RECIPES = ("recipe", "help", "output", "show", "quiet", "verbose", "debug", "show_errors")
"""What a call does with its results is not part of how it comes to them."""

RECIPE = "murmur.recipe"
"""Key of the recipe's name in a call's context."""

_OPTION = re.compile(r"--[a-z][a-z-]*")


def take_recipe(context: typer.Context, text: str | None) -> str | None:
    """Make the recipe's table for this command its defaults.

    Raises:
        UsageError: no such recipe, one that cannot be read, or an option that is unknown.
    """
    if text is None or context.resilient_parsing:
        return text
    from murmur_cli.recipe_file import find_recipe, read_recipe

    recipe = read_recipe(find_recipe(text))
    table = recipe.options.get(str(context.command.name), {})
    context.default_map = _defaults(context, table, _where(recipe.name))
    context.meta[RECIPE] = recipe.name
    return text


RecipeOption = Annotated[
    str | None,
    typer.Option(
        "--recipe",
        metavar="NAME|FILE",
        help="Take options from a recipe; those given here win.",
        callback=take_recipe,
        is_eager=True,
        show_default=False,
    ),
]


def names_recipe(command: Callable[..., None]) -> Callable[..., None]:
    """A command with a `context` and `RecipeOption`: what is wrong with a value that the recipe
    gave is told with the recipe's name."""

    @functools.wraps(command)
    def called(**options: Any) -> None:
        try:
            command(**options)
        except (UsageError, ModelError) as error:
            context: typer.Context = options["context"]
            if _is_about_recipe(context, str(error)):
                raise type(error)(f"{_where(context.meta[RECIPE])}: {error}") from error
            raise

    return called


def curves_for_auto(chunk: str, recipe: str | None) -> tuple[ChunkCurve, ...]:
    """What '--chunk auto' may go by: curves of the recipe, then those in the user's store."""
    if chunk != "auto":
        return ()
    from murmur_cli.recipe_file import find_recipe, read_recipe, stored_curves

    own = read_recipe(find_recipe(recipe)).curves if recipe is not None else ()
    return (*own, *stored_curves())


def shares_for_auto(kv_budget: str | None, recipe: str | None) -> tuple[KvShares, ...]:
    """What '--kv-budget auto' may go by: budgets of the recipe, then those in the user's store."""
    if kv_budget != "auto":
        return ()
    from murmur_cli.recipe_file import find_recipe, read_recipe, stored_kv_shares

    own = read_recipe(find_recipe(recipe)).kv_shares if recipe is not None else ()
    return (*own, *stored_kv_shares())


def _defaults(context: typer.Context, table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Option by its parameter's name; a single value of a repeatable option is a list of one."""
    known = {
        option.lstrip("-").replace("-", "_"): parameter
        for parameter in context.command.params
        for option in parameter.opts
        if option.startswith("--")
    }
    known = {name: one for name, one in known.items() if name not in NOT_IN_RECIPES}
    defaults: dict[str, Any] = {}
    for name, value in table.items():
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(
                f"{where}: {context.command.name} has no option '{name}'{hint}; "
                f"known: {', '.join(known)}"
            )
        parameter = known[name]
        several = bool(getattr(parameter, "multiple", False))
        if isinstance(value, dict) or (isinstance(value, list) and not several):
            raise UsageError(f"{where}: '{name}' takes one value")
        if isinstance(value, bool) and not getattr(parameter, "is_flag", False):
            raise UsageError(f"{where}: '{name}' is no switch; give its value")
        given = [value] if several and not isinstance(value, list) else value
        defaults[str(parameter.name)] = _checked(context, parameter, given, f"{where}: {name}")
    return defaults


def _checked(context: typer.Context, parameter: Any, value: object, where: str) -> object:
    """The value, if the option takes such a one."""
    try:
        taken = parameter.process_value(context, value)
    except typer.BadParameter as error:
        raise UsageError(f"{where} = {value!r}: {error.message.rstrip('.')}") from None
    if isinstance(value, float) and isinstance(taken, int) and taken != value:
        raise UsageError(f"{where} = {value!r}: not a whole number")
    return value


def _is_about_recipe(context: typer.Context, message: str) -> bool:
    """Whether a message is about a value of the recipe: its first words name the option or begin
    with the value; where they name no option, any other words. Not if it names a recipe itself."""
    if message.startswith(_where("")):
        return False
    head = message.partition(":")[0]
    named = set(_OPTION.findall(head)) or set(_OPTION.findall(message))
    for parameter in context.command.params:
        if is_of_recipe(context, str(parameter.name)):
            value = context.params.get(str(parameter.name))
            if named & {*parameter.opts, *parameter.secondary_opts}:
                return True
            if isinstance(value, str) and message.startswith((f"{value}: ", f"{value} ")):
                return True
    return False


def _where(name: str) -> str:
    return f"recipe {name}"
