"""The scoreboard as tables for people, with how it was scored below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from murmur_cli.commands.table import print_table

if TYPE_CHECKING:
    from murmur_cli.scoring.counts import Counts
    from murmur_cli.scoring.scoreboard import Scoreboard
    from murmur_cli.scoring.session_score import SessionScore

NAMES = {
    "wer": "WER",
    "cpwer": "cpWER",
    "tcpwer": "tcpWER",
    "orcwer": "ORC-WER",
    "dicpwer": "DI-cpWER",
    "der": "DER",
    "jer": "JER",
}
NOT_THERE = "-"
MOST_TOLD = 3
"""Lines or names of one kind in a note."""


def print_scoreboard(console: Console, board: Scoreboard, *, with_speakers: bool) -> None:
    """Print sessions and the pool in percent, speakers if wanted, and how it was scored."""
    metrics = board.metrics
    header = ("session", "words", *(NAMES[name] for name in metrics), "speakers", "")
    rows = [_session_row(session, metrics) for session in board.sessions]
    print_table(console, header, [*rows, _pooled_row(board, metrics)])
    if with_speakers and board.speakers():
        console.print()
        print_table(console, ("speaker", "sessions", "words", "cpWER", "tcpWER"), _speakers(board))
    console.print()
    for line in _how(board):
        console.print(line)


def print_unused(console: Console, lines: Sequence[str]) -> None:
    """Say which files were left for another of the same session."""
    for line in lines[:MOST_TOLD]:
        console.print(f"not used: {line}")
    if len(lines) > MOST_TOLD:
        console.print(f"not used: {len(lines) - MOST_TOLD} more for the same reason")


def shown(name: str) -> str:
    """A name as one line that every terminal takes."""
    text = name.encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\n", "\\n").replace("\r", "\\r")


def _session_row(session: SessionScore, metrics: Sequence[str]) -> tuple[str, ...]:
    standing = "" if session.standing == "scored" else str(session.standing)
    number = f"{session.found_speakers} of {session.speakers}" if session.is_counted else NOT_THERE
    return (
        shown(session.session_id),
        _length(session.counts),
        *(_percent(session.counts.get(name)) for name in metrics),
        number,
        standing,
    )


def _pooled_row(board: Scoreboard, metrics: Sequence[str]) -> tuple[str, ...]:
    pooled = board.pooled()
    counted, number = len(board.counted), len(board.sessions)
    name = f"all {number}" if counted == number else f"{counted} of {number}"
    return (name, _length(pooled), *(_percent(pooled[name]) for name in metrics), "", "pooled")


def _speakers(board: Scoreboard) -> list[tuple[str, ...]]:
    return [
        (
            shown(total.speaker) if total.speaker is not None else "(paired with nobody)",
            str(total.sessions),
            str(total.cpwer.length),
            _percent(total.cpwer),
            _percent(total.tcpwer),
        )
        for total in board.speakers()
    ]


def _length(counts: Mapping[str, Counts]) -> str:
    return str(getattr(counts.get("wer"), "length", NOT_THERE))


def _percent(counts: Counts | None) -> str:
    """Percent; where the reference has nothing to count against, what was invented."""
    from murmur_cli.scoring.counts import TimeCounts, WordCounts

    if counts is not None and counts.percent is not None:
        return f"{counts.percent:.1f}"
    if isinstance(counts, WordCounts) and counts.insertions:
        return f"+{counts.insertions} words"
    if isinstance(counts, TimeCounts) and counts.false_alarm_s:
        return f"+{counts.false_alarm_s:.1f} s"
    return NOT_THERE


def _how(board: Scoreboard) -> Iterator[str]:
    """Spelling, collars, region, and what was not found in the usual way."""
    settings, normalizer = board.settings, board.normalizer
    if "wer" in board.metrics:
        yield f"words: --norm {normalizer.name} ({normalizer.description})"
        yield f"tcpWER: collar {settings.collar_s:g} s"
    for name in ("cpwer", "tcpwer", "orcwer", "dicpwer"):
        methods = board.methods(name)
        if set(methods) - {"MeetEval"}:
            yield f"{NAMES[name]}: " + ", ".join(
                f"{method} ({_sessions(number)})" for method, number in methods.items()
            )
    if unnamed := sum(session.names_nobody for session in board.counted):
        yield f"no speakers in the words of {_sessions(unnamed)}: they count as those of one"
    if "der" in board.metrics:
        overlaps = "overlaps left out" if settings.skip_overlap else "overlaps scored"
        yield f"DER, JER: collar {settings.der_collar_s:g} s on each side, {overlaps}"
        if made := sorted(_made_turns(board)):
            yield f"turns made of utterances: {', '.join(made)}"
    regions = [session.region for session in board.counted]
    yield "region: " + ", ".join(
        f"{region} ({_sessions(regions.count(region))})" for region in dict.fromkeys(regions)
    )


def _made_turns(board: Scoreboard) -> set[str]:
    made = set()
    for session in board.counted:
        for side, one in (
            ("reference", session.pair.reference),
            ("hypothesis", session.pair.hypothesis),
        ):
            if one is not None and one.turns_made:
                made.add(f"{side} ({one.turns_from})")
    return made


def _sessions(number: int) -> str:
    return f"{number} session" if number == 1 else f"{number} sessions"
