"""How the program ends: at once, whatever still works in the background."""

from __future__ import annotations

import threading

import pytest

from murmur_cli.commands import app
from murmur_cli.errors import ExitCode


class Left(BaseException):
    """In place of the end of the process."""


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    codes: list[int] = []

    def leave(code: int) -> None:
        codes.append(code)
        raise Left

    monkeypatch.setattr("murmur_cli.commands.app.os._exit", leave)
    return codes


def test_leaving_when_a_thread_still_loads_then_it_is_not_waited_for(ends: list[int]) -> None:
    loaded = threading.Event()
    thread = threading.Thread(target=loaded.wait, name="load")
    thread.start()
    try:
        with pytest.raises(Left):
            app._leave(ExitCode.SOME_FAILED)
    finally:
        loaded.set()
        thread.join()
    assert ends == [ExitCode.SOME_FAILED]


def test_leaving_when_nothing_else_works_then_a_usual_exit(ends: list[int]) -> None:
    with pytest.raises(SystemExit) as ending:
        app._leave(ExitCode.USAGE)
    assert (ending.value.code, ends) == (ExitCode.USAGE, [])


def test_leaving_when_interrupted_then_at_once(ends: list[int]) -> None:
    with pytest.raises(Left):
        app._leave(ExitCode.INTERRUPTED)
    assert ends == [ExitCode.INTERRUPTED]
