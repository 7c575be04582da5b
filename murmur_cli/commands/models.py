"""`murmur models`: what there is, where it comes from, and whether it works offline."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import typer

from murmur_cli.commands.console import stderr_console, stdout_console
from murmur_cli.commands.table import print_table
from murmur_cli.models.catalog import CATALOG, CatalogEntry, availability, find_entry
from murmur_cli.models.hub import pull

STATE_HEADER = ("name", "for", "size", "memory", "licence", "offline")
SOURCE_HEADER = ("name", "languages", "from", "note")
HUB_HINT = "needs hub: fetch it once with 'murmur models pull NAME'; then runs need no network"

models_app = typer.Typer(help="List the models, or fetch one from the model hub.")


@models_app.callback(invoke_without_command=True)
def models_command(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the known models: purpose, source, licence, size, and whether a run can use them now
    without a network."""
    if context.invoked_subcommand is not None:
        return
    if as_json:
        typer.echo(json.dumps([_record(entry) for entry in CATALOG], indent=2, ensure_ascii=False))
        return
    console = stdout_console()
    print_table(console, STATE_HEADER, [_state_row(entry) for entry in CATALOG])
    console.print()
    print_table(console, SOURCE_HEADER, [_source_row(entry) for entry in CATALOG])
    console.print()
    console.print(HUB_HINT)


@models_app.command("pull")
def pull_command(
    name: Annotated[str, typer.Argument(help="Hub id, such as openai/whisper-small.")],
) -> None:
    """Fetch a model from the model hub into its cache, so that runs need no network.

    HF_HOME names the cache; HF_TOKEN is used for gated models and never shown.
    """
    entry = find_entry(name)
    if entry is not None and entry.hub_id is None:
        stderr_console().print(f"{entry.name} comes with {entry.source}; nothing to fetch")
        return
    folder = pull(entry.hub_id if entry is not None and entry.hub_id else name)
    stderr_console().print(f"{name} is in {folder}")


def _state_row(entry: CatalogEntry) -> tuple[str, ...]:
    state = availability(entry)
    return (
        entry.name,
        entry.purpose,
        f"{entry.size_mb} MB",
        "" if entry.memory_gb is None else f"{entry.memory_gb} GB",
        entry.licence,
        "yes" if state.usable else state.cure,
    )


def _source_row(entry: CatalogEntry) -> tuple[str, ...]:
    return (entry.name, entry.languages, entry.source, entry.note)


def _record(entry: CatalogEntry) -> dict[str, Any]:
    state = availability(entry)
    return {
        **dataclasses.asdict(entry),
        "usable_offline": state.usable,
        "cure": state.cure or None,
    }
