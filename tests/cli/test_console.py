import pytest

from murmur_cli.commands.console import stderr_console, stdout_console
from murmur_cli.commands.table import aligned, print_table


def test_console_when_off_a_terminal_then_text_is_kept_as_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    line = "[bold]a name[/bold] :smile: 12 " + "long " * 100 + "end"
    stdout_console().print(line, style="bold red")
    stderr_console().print(line)
    captured = capsys.readouterr()
    assert captured.out == captured.err == line + "\n"


def test_aligned_when_cells_differ_in_width_then_columns_line_up() -> None:
    assert aligned([("a", "bb"), ("ccc", "")]) == ["a    bb", "ccc"]


def test_table_when_off_a_terminal_then_header_and_rows_are_plain(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(stdout_console(), ("name", "size"), [("x[1]", "2")])
    assert capsys.readouterr().out == "name  size\nx[1]  2\n"
