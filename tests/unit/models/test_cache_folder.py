from pathlib import Path

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.cache_folder import cache_folder, is_writable


@pytest.mark.parametrize(
    ("own", "shared", "expected"),
    [
        ("/a/b", "/c", "/a/b"),
        (None, "/c", "/c/murmur"),
        ("", "/c", "/c/murmur"),
        (None, "relative", "/home/x/.cache/murmur"),
        (None, None, "/home/x/.cache/murmur"),
        ("~/own", None, "/home/x/own"),
    ],
)
def test_cache_folder_when_variables_are_set_then_the_documented_order_holds(
    monkeypatch: pytest.MonkeyPatch, own: str | None, shared: str | None, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/x")
    for name, value in (("MURMUR_CACHE", own), ("XDG_CACHE_HOME", shared)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert cache_folder() == Path(expected)


def test_is_writable_when_folder_is_new_then_it_is_made(tmp_path: Path) -> None:
    assert is_writable(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_is_writable_when_a_file_is_in_the_way_then_false(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert not is_writable(tmp_path / "file" / "cache")


def test_cache_folder_when_user_has_no_home_then_model_error_names_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("MURMUR_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(ModelError, match="set MURMUR_CACHE to a folder"):
        cache_folder()
