"""Progress on a terminal and off it, as characters in a buffer."""

from __future__ import annotations

import io

from rich.console import Console

from murmur_cli.commands.progress_display import ProgressDisplay


def _console(*, terminal: bool) -> tuple[Console, io.StringIO]:
    stream = io.StringIO()
    console = Console(
        file=stream, force_terminal=terminal, width=200, markup=False, emoji=False, highlight=False
    )
    return console, stream


def _run(display: ProgressDisplay) -> None:
    with display:
        display.stage("12:30 [bold]", "recognition", 4)
        display.advance("12:30 [bold]", "recognition", 2)
        display.note("a choice")
        display.note("a doubt\nof two lines", level="warning")


def test_display_when_off_a_terminal_then_plain_lines_only() -> None:
    console, stream = _console(terminal=False)
    _run(ProgressDisplay(console, quiet=False, verbose=True))
    assert stream.getvalue() == "a choice\nwarning: a doubt of two lines\n"


def test_display_when_not_verbose_then_warnings_alone() -> None:
    for quiet in (False, True):
        console, stream = _console(terminal=False)
        _run(ProgressDisplay(console, quiet=quiet, verbose=quiet))
        assert stream.getvalue() == "warning: a doubt of two lines\n"


def test_display_when_on_a_terminal_then_stage_and_name_as_it_is() -> None:
    console, stream = _console(terminal=True)
    display = ProgressDisplay(console, quiet=False, verbose=False)
    with display:
        display.stage("12:30 [bold]", "recognition", 4)
        display.advance("12:30 [bold]", "recognition", 2)
    assert "12:30 [bold]" in stream.getvalue()
    assert "recognition" in stream.getvalue()
    assert "2/4" in stream.getvalue()


def test_display_when_quiet_on_a_terminal_then_no_bars() -> None:
    console, stream = _console(terminal=True)
    with ProgressDisplay(console, quiet=True, verbose=False) as display:
        display.stage("talk", "recognition", 4)
    assert stream.getvalue() == ""


def test_display_when_cleared_on_a_terminal_then_bars_are_gone_and_come_back() -> None:
    console, stream = _console(terminal=True)
    with ProgressDisplay(console, quiet=False, verbose=False) as display:
        display.stage("talk", "recognition", 4)
        with display.cleared():
            # The bar's line is erased before anything else is written to the terminal.
            assert stream.getvalue().endswith("\x1b[2K")
            before = len(stream.getvalue())
        assert "recognition" in stream.getvalue()[before:]


def test_display_when_recordings_overlap_then_each_has_its_bar_until_it_ends() -> None:
    console, stream = _console(terminal=True)
    with ProgressDisplay(console, quiet=False, verbose=False) as display:
        display.stage("monday", "recognition", 4)
        display.stage("tuesday", "read", None)
        display.advance("monday", "recognition", 3)
        display.advance("friday", "recognition", 1)  # not on its way: nothing to move
        with display.cleared():
            shown = stream.getvalue()
        assert "monday" in shown
        assert "3/4" in shown
        assert "tuesday" in shown
        display.end("monday")
        display.end("monday")
        before = len(stream.getvalue())
        display.stage("tuesday", "speech detection", None)
        with display.cleared():
            shown = stream.getvalue()[before:]
        assert "monday" not in shown
        assert "speech detection" in shown
