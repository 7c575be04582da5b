"""Paths of the command line -> recordings with session ids."""

from pathlib import Path

import pytest

from murmur_cli.audio.discover import assign_session_ids, find_inputs
from murmur_cli.errors import UsageError


def make(folder: Path, *names: str) -> list[Path]:
    paths = [folder / name for name in names]
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(path.name.encode("utf-8", "surrogateescape"))
    return paths


def ids(*paths: str) -> list[str]:
    return [source.session_id for source in assign_session_ids([Path(path) for path in paths])]


def test_find_inputs_when_files_given_then_order_and_names_kept(tmp_path: Path) -> None:
    paths = make(tmp_path, "b.wav", "a b.mp3", "notes.txt")
    found = find_inputs(paths, recursive=False)
    assert [source.path for source in found] == paths
    assert [source.session_id for source in found] == ["b", "a b", "notes"]


@pytest.mark.parametrize(
    "name",
    ["a b.wav", "-x.wav", "会议 é.wav", "12:30.wav", "100%d.wav", "it's.wav", "two\nlines.wav"],
)
def test_find_inputs_when_name_is_odd_then_stem_is_the_session(tmp_path: Path, name: str) -> None:
    (path,) = make(tmp_path, name)
    (found,) = find_inputs([path], recursive=False)
    assert found.path == path
    assert found.session_id == name.removesuffix(".wav")


def test_find_inputs_when_folder_then_media_in_order_without_hidden(tmp_path: Path) -> None:
    make(tmp_path, "b.wav", "a.MP3", ".hidden.wav", "notes.txt", "sub/c.flac", ".git/d.wav")
    flat = find_inputs([tmp_path], recursive=False)
    assert [source.path.name for source in flat] == ["a.MP3", "b.wav"]
    deep = find_inputs([tmp_path], recursive=True)
    assert [source.path.name for source in deep] == ["a.MP3", "b.wav", "c.flac"]


def test_find_inputs_when_hidden_file_is_named_then_taken(tmp_path: Path) -> None:
    (path,) = make(tmp_path, ".hidden.wav")
    assert find_inputs([path], recursive=False)[0].session_id == ".hidden"


def test_find_inputs_when_wildcard_is_quoted_then_expanded(tmp_path: Path) -> None:
    make(tmp_path, "b.wav", "a.wav", "c.txt")
    found = find_inputs([tmp_path / "*.wav"], recursive=False)
    assert [source.session_id for source in found] == ["a", "b"]


def test_find_inputs_when_wildcard_is_broad_then_media_only(tmp_path: Path) -> None:
    make(tmp_path, "call.wav", "call.txt", "call.srt")
    found = find_inputs([tmp_path / "call*"], recursive=False)
    assert [source.path.name for source in found] == ["call.wav"]


def test_find_inputs_when_name_has_brackets_and_exists_then_no_wildcard(tmp_path: Path) -> None:
    make(tmp_path, "call[1].wav", "call1.wav")
    found = find_inputs([tmp_path / "call[1].wav"], recursive=False)
    assert [source.session_id for source in found] == ["call[1]"]


def test_find_inputs_when_path_is_missing_then_kept(tmp_path: Path) -> None:
    found = find_inputs([tmp_path / "gone.wav"], recursive=False)
    assert [source.session_id for source in found] == ["gone"]


def test_find_inputs_when_same_file_twice_then_once(tmp_path: Path) -> None:
    (path,) = make(tmp_path, "a.wav")
    (tmp_path / "link.wav").symlink_to(path)
    again = tmp_path / "x" / ".." / "a.wav"
    (tmp_path / "x").mkdir()
    assert len(find_inputs([path, path, again, tmp_path / "link.wav"], recursive=False)) == 1


def test_find_inputs_when_folder_is_called_like_a_file_then_it_fails_by_itself(
    tmp_path: Path,
) -> None:
    (tmp_path / "x.wav").mkdir()
    assert find_inputs([tmp_path / "x.wav"], recursive=False)[0].path == tmp_path / "x.wav"


def test_find_inputs_when_nothing_given_then_usage_error() -> None:
    with pytest.raises(UsageError, match="no input"):
        find_inputs([], recursive=False)


def test_find_inputs_when_folder_has_no_media_then_usage_error(tmp_path: Path) -> None:
    make(tmp_path, "notes.txt", "sub/a.wav")
    with pytest.raises(UsageError, match="--recursive"):
        find_inputs([tmp_path], recursive=False)


def test_find_inputs_when_wildcard_matches_nothing_then_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file matches"):
        find_inputs([tmp_path / "*.wav"], recursive=False)


def test_session_ids_when_extensions_differ_then_extension_tells_apart() -> None:
    assert ids("call.wav", "Call.mp3", "other.wav") == ["call.wav", "Call.mp3", "other"]


def test_session_ids_when_folders_differ_then_folder_tells_apart() -> None:
    assert ids("/d1/call.wav", "/d2/call.wav", "/d1/call.mp3") == [
        "d1-call.wav",
        "d2-call.wav",
        "call.mp3",
    ]


def test_session_ids_when_all_is_alike_then_numbered_in_order() -> None:
    assert ids("/x/d/a.wav", "/y/d/a.wav", "/z/d/A.wav") == ["d-a.wav", "d-a.wav-2", "d-A.wav-3"]


def test_session_ids_when_order_changes_then_names_stay() -> None:
    forward = dict(zip("ab", ids("/d1/c.wav", "/d2/c.wav"), strict=True))
    backward = dict(zip("ba", ids("/d2/c.wav", "/d1/c.wav"), strict=True))
    assert forward == backward


def test_session_ids_when_longer_form_meets_a_stem_then_still_unique() -> None:
    names = ids("a.wav", "a.mp3", "a.wav.flac")
    assert len({name.casefold() for name in names}) == 3


def test_session_ids_when_unicode_forms_differ_then_kept_apart() -> None:
    composed, decomposed = "caf\u00e9.wav", "cafe\u0301.wav"
    names = ids(f"/d1/{composed}", f"/d2/{decomposed}")
    assert names == [f"d1-{composed}", f"d2-{decomposed}"]
