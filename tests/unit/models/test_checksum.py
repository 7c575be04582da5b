import os
from pathlib import Path

import pytest

from murmur_cli.models.checksum import sha256_of_bytes_in, sha256_of_file

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"  # FIPS 180-2, B.1
EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_joined_when_bytes_lie_in_two_files_then_hash_is_that_of_the_whole(tmp_path: Path) -> None:
    (tmp_path / "1").write_bytes(b"a")
    (tmp_path / "2").write_bytes(b"bc")
    assert sha256_of_bytes_in((tmp_path / "1", tmp_path / "2")) == ABC


def test_of_file_when_asked_twice_then_the_record_answers(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    stamp = path.stat()
    assert sha256_of_file(path) == ABC
    path.write_bytes(b"xyz")  # same size, and the same time: taken for unchanged, as documented
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert sha256_of_file(path) == ABC


def test_of_file_when_time_changes_then_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"xyz")
    sha256_of_file(path)
    path.write_bytes(b"abc")
    os.utime(path, ns=(1, 1))
    assert sha256_of_file(path) == ABC


def test_of_file_when_size_changes_then_it_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    stamp = path.stat()
    sha256_of_file(path)
    path.write_bytes(b"")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert sha256_of_file(path) == EMPTY


def test_of_file_when_record_is_damaged_then_it_is_read_again(tmp_path: Path, cache: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    sha256_of_file(path)
    (record,) = (cache / "checked").glob("*.json")
    for content in ("", "[]", "{}"):
        record.write_text(content)
        assert sha256_of_file(path) == ABC


def test_of_file_when_cache_cannot_be_written_then_the_hash_still_comes(
    tmp_path: Path, cache: Path
) -> None:
    cache.write_bytes(b"a file where the folder should be")
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    assert sha256_of_file(path) == ABC


def test_of_file_when_it_is_missing_then_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sha256_of_file(tmp_path / "none")
