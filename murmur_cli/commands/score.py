"""`murmur score`: transcripts against references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from murmur_cli.commands.console import print_data, stderr_console, stdout_console
from murmur_cli.commands.recipe_option import RecipeOption, names_recipe
from murmur_cli.commands.score_table import MOST_TOLD, print_scoreboard, print_unused, shown
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.near_name import did_you_mean

if TYPE_CHECKING:
    from murmur_cli.scoring.scoreboard import Scoreboard
    from murmur_cli.scoring.session_score import SessionScore
    from murmur_cli.scoring.sources import Side

EXIT_CODES_HELP = (
    "Exit codes: 0 all scored; 1 hypotheses are missing (they count as left out) or failed (they "
    "do not count); 2 wrong call or reference; 3 nothing to score."
)
WORDS, SPEAKERS, INPUT, OUTPUT = "Words", "Speakers", "Input", "Output"
REPORTS = ("table", "json", "csv")
ERROR_PAGES = (".html", ".txt")


@names_recipe
def score_command(
    context: typer.Context,
    reference: Annotated[
        Path, typer.Argument(metavar="REF", help="Reference: a file or folder.", show_default=False)
    ],
    hypotheses: Annotated[
        list[Path],
        typer.Argument(metavar="HYP...", help="Hypotheses: files and folders.", show_default=False),
    ],
    norm: Annotated[
        str, typer.Option(help="Spelling: none, basic, whisper, chime8.", rich_help_panel=WORDS)
    ] = "basic",
    language: Annotated[
        str, typer.Option(help="Language whose rules apply.", rich_help_panel=WORDS)
    ] = "en",
    keep_fillers: Annotated[
        bool, typer.Option("--keep-fillers", help="Score 'um', 'uh' …", rich_help_panel=WORDS)
    ] = False,
    collar: Annotated[
        float, typer.Option(help="Of tcpWER, in seconds.", rich_help_panel=WORDS)
    ] = 5.0,
    der_collar: Annotated[
        float,
        typer.Option(
            help="Seconds on each side of a turn's border that DER and JER leave out.",
            rich_help_panel=SPEAKERS,
        ),
    ] = 0.0,
    skip_overlap: Annotated[
        bool,
        typer.Option(
            "--skip-overlap",
            help="DER and JER without stretches where several speak.",
            rich_help_panel=SPEAKERS,
        ),
    ] = False,
    uem: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="UEM file or folder: score only these stretches; 'none' for whole files. "
            "If not given, the UEM files in the folder REF.",
            rich_help_panel=INPUT,
            show_default=False,
        ),
    ] = None,
    ref_pattern: Annotated[
        str | None,
        typer.Option(
            metavar="GLOB",
            help="Of a reference folder, only files whose name matches.",
            rich_help_panel=INPUT,
            show_default=False,
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SESSION", help="Leave a session out; repeatable.", rich_help_panel=INPUT
        ),
    ] = None,
    report_format: Annotated[
        str,
        typer.Option("--format", "-f", help="table, json or csv.", rich_help_panel=OUTPUT),
    ] = "table",
    recipe: RecipeOption = None,
    by_speaker: Annotated[
        bool,
        typer.Option(
            "--by-speaker",
            help="A second table: speakers over all sessions.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    show_errors: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write words side by side: .html or .txt.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Errors and warnings only.")] = False,
) -> None:
    """Score transcripts: WER, cpWER, tcpWER, ORC-WER, DI-cpWER, DER and JER.

    Reads STM, SegLST, CTM, RTTM, VTT, SRT and the JSON of transcribe. Sessions meet by their ids.
    """
    from murmur_cli.scoring.meeteval_log import quiet_meeteval
    from murmur_cli.scoring.normalizers.registry import make_normalizer
    from murmur_cli.scoring.pairing import pair_sessions
    from murmur_cli.scoring.scoreboard import score_all
    from murmur_cli.scoring.settings import ScoreSettings
    from murmur_cli.scoring.stretches import read_stretches

    settings = ScoreSettings(collar, der_collar, skip_overlap)
    _check_output(report_format, by_speaker, show_errors)
    normalizer = make_normalizer(norm, language=language.strip().lower(), keep_fillers=keep_fillers)
    references = _references(reference, ref_pattern, exclude or [], hypotheses)
    stretches = read_stretches(uem, [reference])
    found = _hypotheses(hypotheses, exclude or [], reference)
    board = score_all(pair_sessions(references, found), normalizer, settings, stretches)
    _warn(board, found)
    if not quiet:
        _tell(board, references, found)
    _tell_whole(board, stretches)
    code = _exit_code(board, found)
    if code is not ExitCode.NOTHING_PROCESSED:
        if show_errors is not None:
            with quiet_meeteval():
                _write_errors(board, show_errors)
        _print(board, report_format, by_speaker=by_speaker)
    raise typer.Exit(code)


def _check_output(report_format: str, by_speaker: bool, show_errors: Path | None) -> None:
    if report_format not in REPORTS:
        hint = did_you_mean(report_format, REPORTS)
        raise UsageError(f"--format {report_format}: unknown{hint}; known are {', '.join(REPORTS)}")
    if by_speaker and report_format != "table":
        raise UsageError(f"--by-speaker is for the table; {report_format} has speakers anyway")
    if show_errors is None:
        return
    if show_errors.suffix.lower() not in ERROR_PAGES:
        raise UsageError(
            f"--show-errors {show_errors}: give a name that ends in {' or '.join(ERROR_PAGES)}"
        )
    if show_errors.is_dir() or not show_errors.parent.is_dir():
        raise UsageError(f"--show-errors {show_errors}: no file can be written there")


def _references(
    path: Path, pattern: str | None, exclude: Sequence[str], hypotheses: Sequence[Path]
) -> Side:
    """What the references say.

    Raises:
        UsageError: no reference, one that cannot be read, or an excluded session that none has.
    """
    from murmur_cli.scoring.sources import read_references

    side = read_references([path], pattern, apart=hypotheses)
    for name in exclude:
        if name not in side.sessions:
            raise UsageError(f"--exclude {name}: no reference of that session")
    if not side.without(exclude).sessions:
        raise UsageError(f"{path}: no session to score")
    return side.without(exclude)


def _hypotheses(paths: Sequence[Path], exclude: Sequence[str], reference: Path) -> Side:
    from murmur_cli.scoring.sources import find_files, read_side

    files = find_files(paths, apart=[reference])
    return read_side(files, chosen=frozenset(paths)).without(exclude)


def _warn(board: Scoreboard, hypotheses: Side) -> None:
    """Say on standard error what failed and what is missing."""
    console = stderr_console()
    for file in hypotheses.unreadable:
        console.print(f"failed: {shown(file.reason)}")
    for session in board.sessions:
        if (warning := _warning(session)) is not None:
            console.print(f"{shown(session.session_id)}: {warning}")


def _tell(board: Scoreboard, references: Side, hypotheses: Side) -> None:
    """Say on standard error what was found by another name, not used or not asked for."""
    console = stderr_console()
    for session in board.sessions:
        if _warning(session) is None and session.pair.note is not None:
            console.print(f"{shown(session.session_id)}: {session.pair.note}")
    print_unused(console, (*references.unused, *hypotheses.unused))
    for name in board.without_reference:
        console.print(f"{shown(name)}: no reference, not scored")


def _tell_whole(board: Scoreboard, stretches: Mapping[str, object]) -> None:
    """Say which sessions a UEM does not know, if there is one: a slip in an id looks like that."""
    unknown = [one.session_id for one in board.sessions if one.session_id not in stretches]
    if stretches and unknown:
        names = ", ".join(map(shown, unknown[:MOST_TOLD]))
        rest = len(unknown) - MOST_TOLD
        more = f" and {rest} more" if rest > 0 else ""
        stderr_console().print(f"not in the UEM, scored whole: {names}{more}")


def _warning(session: SessionScore) -> str | None:
    if session.standing == "failed":
        return "not scored, its hypothesis failed"
    if session.standing == "missing":
        return "no hypothesis; all of it counts as left out"
    if session.lacks_words:
        return "no hypothesis of its words; they count as left out"
    return None


def _exit_code(board: Scoreboard, hypotheses: Side) -> ExitCode:
    if all(session.pair.hypothesis is None for session in board.sessions):
        return ExitCode.NOTHING_PROCESSED
    if hypotheses.unreadable or any(
        one.pair.hypothesis is None or one.lacks_words for one in board.sessions
    ):
        return ExitCode.SOME_FAILED
    return ExitCode.OK


def _print(board: Scoreboard, report_format: str, *, by_speaker: bool) -> None:
    from murmur_cli.scoring.score_document import score_csv, score_json

    if report_format == "table":
        console = stdout_console()
        with console.capture() as captured:
            print_scoreboard(console, board, with_speakers=by_speaker)
        print_data(captured.get())
    else:
        render = score_json if report_format == "json" else score_csv
        print_data(render(board))


def _write_errors(board: Scoreboard, path: Path) -> None:
    from murmur_cli.scoring.error_page import html_page, text_page
    from murmur_cli.writers.output import write_whole

    page = text_page if path.suffix.lower() == ".txt" else html_page
    write_whole(path, page(board).encode("utf-8", "backslashreplace"))
