"""`murmur bench`: what a decode step costs under each KV policy, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from murmur_cli.commands.console import stderr_console, stdout_console
from murmur_cli.commands.table import print_table
from murmur_cli.errors import ExitCode, RecordingError
from murmur_cli.settings import Precision, parse_precision


def bench_command(
    model: Annotated[
        str, typer.Argument(help="'auto', a name from 'murmur models', a hub id, or a folder.")
    ] = "auto",
    evict: Annotated[
        str, typer.Option(help="KV eviction policies to compare; none is always among them.")
    ] = "none,output,speech,both,align",
    evict_opt: Annotated[
        list[str] | None,
        typer.Option(metavar="POLICY.KEY=VALUE", help="Option of a policy; repeatable."),
    ] = None,
    audio: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Recording whose windows are decoded, repeatable, or 'synthetic'.  "
            "[default: synthetic]",
            show_default=False,
        ),
    ] = None,
    batch_size: Annotated[int, typer.Option(help="Requests decoded together.")] = 16,
    steps: Annotated[int, typer.Option(help="Tokens decoded for each request.")] = 128,
    rounds: Annotated[int, typer.Option(help="Repeats of each policy, in alternation.")] = 10,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the arithmetic; default as torch chooses.")
    ] = None,
    precision: Annotated[
        str, typer.Option(help="Arithmetic, as for 'murmur transcribe'.")
    ] = Precision.EXACT.value,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or cuda:N.")] = "auto",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Folder for bench.json, bench.md and bench.svg."
        ),
    ] = None,
) -> None:
    """Measure the decode engine: time of a step, bytes read and memory under each policy.

    Every request decodes the same number of tokens, whatever the model would end. How Murmur
    compares with other programs is measured by 'make bench'.
    """
    from murmur_cli.bench.engine_report import EngineRequest, engine_report
    from murmur_cli.bench.engine_setting import parse_settings
    from murmur_cli.bench.report_files import write_report
    from murmur_cli.bench.report_table import cells, header
    from murmur_cli.writers.output import check_directory

    if output is not None:
        # Said now, not after minutes of measuring.
        check_directory(output)
    notes = stderr_console()
    request = EngineRequest(
        model=model,
        settings=parse_settings(evict, evict_opt or ()),
        audio=audio or ("synthetic",),
        batch_size=batch_size,
        steps=steps,
        rounds=rounds,
        device=device,
        threads=threads,
        precision=parse_precision(precision),
    )
    try:
        report = engine_report(
            request,
            lambda done, total: notes.print(f"round {done} of {total} done") if done else None,
        )
    except RecordingError as error:
        # There is no other recording that could go on.
        notes.print(f"murmur: {error}", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(ExitCode.NOTHING_PROCESSED) from None
    console = stdout_console()
    for part in report.parts:
        console.print(part.note)
        print_table(console, header(part), [cells(part, row) for row in part.rows])
    if output is not None:
        for path in write_report(report, output):
            notes.print(f"wrote {path}")
