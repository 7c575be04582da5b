"""`murmur sweep-chunks`: what chunk sizes cost and what they give."""

from __future__ import annotations

from typing import Annotated

import typer

from murmur_cli.commands.sweep_call import GRID, SweepCall, sweep_command
from murmur_cli.commands.sweep_run import run_and_report
from murmur_cli.sweeps.grid import DEFAULT_SIZES


@sweep_command
def sweep_chunks_command(
    call: SweepCall,
    sizes: Annotated[
        str,
        typer.Option(help="Longest chunks in seconds; 'full' is one chunk.", rich_help_panel=GRID),
    ] = DEFAULT_SIZES,
    evict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY[:KEY=VALUE,…]",
            help="KV policy, repeatable.  [default: none]",
            show_default=False,
            rich_help_panel=GRID,
        ),
    ] = None,
) -> None:
    """Measure chunk sizes on recordings of your own: errors, time, memory, and which to take.

    Every run is kept in DIR: an interrupted sweep goes on, a longer grid runs only what is new.
    Without references it tells how far each size's words are from those of the longest chunk.
    """
    from murmur_cli.sweeps.build import SweepGrid
    from murmur_cli.sweeps.grid import parse_policy, parse_sizes

    policies = tuple(parse_policy(text) for text in evict or ["none"])
    run_and_report(call, SweepGrid(call.models, parse_sizes(sizes), policies, {}), by_size=True)
