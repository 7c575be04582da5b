"""`murmur sweep-evict`: what KV policies, their budgets and options cost and what they give."""

from __future__ import annotations

from typing import Annotated

import typer

from murmur_cli.commands.sweep_call import GRID, SweepCall, sweep_command
from murmur_cli.commands.sweep_run import run_and_report
from murmur_cli.errors import UsageError
from murmur_cli.settings import DEFAULT_CHUNK_S

FULL_ATTENTION = "none"
DEFAULT_POLICIES = ("output", "speech", "both", "align")


@sweep_command
def sweep_evict_command(
    call: SweepCall,
    evict: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY[:KEY=VALUE,…]",
            help="KV policy, repeatable; none is always "
            f"among them.  [default: {', '.join(DEFAULT_POLICIES)}]",
            show_default=False,
            rich_help_panel=GRID,
        ),
    ] = None,
    kv_budget: Annotated[
        str,
        typer.Option(
            metavar="N,N,…", help="Budgets for every policy that takes one.", rich_help_panel=GRID
        ),
    ] = "",
    evict_opt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="POLICY.KEY=V,V…",
            help="Values of an option, repeatable; all combinations are run.",
            rich_help_panel=GRID,
        ),
    ] = None,
    chunk: Annotated[
        str, typer.Option(help="Longest chunks in seconds, or 'full'.", rich_help_panel=GRID)
    ] = f"{DEFAULT_CHUNK_S:g}",
) -> None:
    """Measure KV policies, their budgets and options as sweep-chunks measures chunk sizes."""
    from murmur_cli.sweeps.build import SweepGrid
    from murmur_cli.sweeps.grid import parse_policy, parse_sizes, parse_variants

    if ";" in kv_budget:
        raise UsageError(
            f"--kv-budget {kv_budget}: a sweep takes entries, such as 256, and shares, such as "
            "0.25, apart by commas; shares by head are for 'murmur transcribe'"
        )
    policies = dict.fromkeys(
        parse_policy(text) for text in (FULL_ATTENTION, *(evict or DEFAULT_POLICIES))
    )
    budgets = dict.fromkeys(part.strip() for part in kv_budget.split(",") if part.strip())
    grid = SweepGrid(
        call.models,
        parse_sizes(chunk, "--chunk"),
        tuple(policies),
        parse_variants(evict_opt or ()),
        tuple(budgets),
    )
    run_and_report(call, grid, by_size=False)
