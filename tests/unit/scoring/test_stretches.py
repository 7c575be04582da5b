"""Which stretches are scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.scoring.stretches import has_uem, read_stretches, read_uem
from murmur_cli.types import TimeSpan


def _write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        (folder / f"{name}.uem").write_text(text, "utf-8")


def test_uem_when_in_a_folder_then_all_its_files_are_read(tmp_path: Path) -> None:
    assert not has_uem(tmp_path)
    with pytest.raises(UsageError, match=r"no \.uem file"):
        read_uem([tmp_path])
    _write(tmp_path, a="a.b 1 0 5\n", b="c 1 0 5\n")
    assert has_uem(tmp_path)
    assert set(read_uem([tmp_path])) == {"a.b", "c"}
    _write(tmp_path, c="c 1 0 9\n")
    with pytest.raises(UsageError, match="'c' is in another"):
        read_uem([tmp_path])


def test_uem_when_a_line_is_wrong_then_the_file_is_told(tmp_path: Path) -> None:
    _write(tmp_path, a="a 1 0\n")
    with pytest.raises(UsageError, match=r"a\.uem: line 1 has 3 fields"):
        read_uem([tmp_path / "a.uem"])


def test_stretches_when_none_are_asked_for_then_those_in_folders_of_references(
    tmp_path: Path,
) -> None:
    _write(tmp_path, a="s 1 0 5\n")
    there = {"s": (TimeSpan(0.0, 5.0),)}
    assert read_stretches(None, [tmp_path, tmp_path / "s.stm"]) == there
    assert read_stretches(None, [tmp_path / "s.stm"]) == {}
    assert read_stretches("none", [tmp_path]) == {}
    assert read_stretches(str(tmp_path / "a.uem"), []) == there
    # The same folder twice is no second file about the session.
    assert read_stretches(None, [tmp_path, tmp_path]) == there
