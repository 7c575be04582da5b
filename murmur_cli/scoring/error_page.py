"""The aligned view: one HTML page that needs nothing else, or plain text.

MeetEval's own view fetches a script library from a server when it is first used; this one works
without a network.
"""

from __future__ import annotations

import html
from collections.abc import Sequence

from murmur_cli.scoring.alignment import AlignedLine, AlignedWord, aligned_lines
from murmur_cli.scoring.scoreboard import Scoreboard
from murmur_cli.scoring.session_score import SessionScore

_STYLE = """
body { font: 15px/1.6 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  color: #1d1d1f; background: #fff }
table { border-collapse: collapse; width: 100% }
td { vertical-align: top; padding: .15rem .8rem .15rem 0; border-top: 1px solid #eee }
td.at, td.who { white-space: nowrap; color: #666; font-variant-numeric: tabular-nums }
del { background: #ffd9d6; text-decoration: line-through }
ins { background: #d3f2d9; text-decoration: none }
ruby { background: #fff0c2 } rt { color: #8a5a00; font-size: .8em }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #161618 } td { border-color: #333 }
  td.at, td.who { color: #aaa } del { background: #5e2623 } ins { background: #1f4a2a }
  ruby { background: #574300 } rt { color: #ffd27a } }
"""
_KEY = (
    "<p><del>left out</del> · <ins>inserted</ins> · <ruby>said<rt>written instead</rt></ruby></p>"
)
_TEXT_KEY = "[-left out-]  {+inserted+}  {said => written instead}"


def html_page(board: Scoreboard) -> str:
    """Every counted session with its utterances in order of time, errors marked."""
    sessions = "".join(_html_session(one, board.settings.collar_s) for one in board.counted)
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>murmur score</title>\n<style>{_STYLE}</style>\n<h1>murmur score</h1>\n"
        f"<p>{html.escape(_how(board))}</p>\n{_KEY}\n{sessions}</html>\n"
    )


def text_page(board: Scoreboard) -> str:
    """The same as plain text."""
    parts = [f"{_how(board)}\n{_TEXT_KEY}\n"]
    for session in board.counted:
        lines = [_text_line(line) for line in aligned_lines(session, board.settings.collar_s)]
        parts.append("\n".join([f"== {_title(session)}", *lines]) + "\n")
    return "\n".join(parts)


def _how(board: Scoreboard) -> str:
    return (
        f"Words as normalised ({board.normalizer.name}: {board.normalizer.description}), paired "
        f"and aligned as tcpWER does with a collar of {board.settings.collar_s:g} s."
    )


def _title(session: SessionScore) -> str:
    counts = session.words["tcpwer"].counts if "tcpwer" in session.words else None
    if counts is None:
        return f"{session.session_id}: no words scored"
    percent = "" if counts.percent is None else f", {counts.percent:.1f} %"
    return (
        f"{session.session_id}: {counts.errors} errors of {counts.length} words{percent} "
        f"({counts.deletions} left out, {counts.insertions} inserted, "
        f"{counts.substitutions} substituted)"
    )


def _html_session(session: SessionScore, collar_s: float) -> str:
    rows = "".join(
        f'<tr><td class="at">{_clock(line.start_s)}</td>'
        f'<td class="who">{html.escape(_who(line))}</td>'
        f"<td>{' '.join(map(_html_word, line.words))}</td></tr>\n"
        for line in aligned_lines(session, collar_s)
    )
    return f"<h2>{html.escape(_title(session))}</h2>\n<table>\n{rows}</table>\n"


def _html_word(word: AlignedWord) -> str:
    said, written = html.escape(word.reference or ""), html.escape(word.hypothesis or "")
    if word.is_right:
        return said
    if word.hypothesis is None:
        return f"<del>{said}</del>"
    if word.reference is None:
        return f"<ins>{written}</ins>"
    return f"<ruby>{said}<rt>{written}</rt></ruby>"


def _text_line(line: AlignedLine) -> str:
    return f"{_clock(line.start_s)}  {_who(line)}  {' '.join(map(_text_word, line.words))}"


def _text_word(word: AlignedWord) -> str:
    if word.is_right:
        return word.reference or ""
    if word.hypothesis is None:
        return f"[-{word.reference}-]"
    if word.reference is None:
        return f"{{+{word.hypothesis}+}}"
    return f"{{{word.reference} => {word.hypothesis}}}"


def _who(line: AlignedLine) -> str:
    names: Sequence[str] = [line.speaker or "nobody", line.found_speaker or "nobody"]
    return " = ".join(names)


def _clock(time_s: float) -> str:
    tenths = round(time_s * 10)
    minutes, rest = divmod(tenths, 600)
    return f"{minutes:d}:{rest // 10:02d}.{rest % 10}"
