"""Bytes in a temporary file: what is written comes back, and nothing stays behind."""

import gc
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from murmur_cli.audio.temporary_bytes import NoRoomError, TemporaryBytes
from support.open_files import open_files_in


def ramp(count: int, first: int = 0) -> np.ndarray:
    return np.arange(first, first + count, dtype=np.float32)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_bytes_when_appended_in_parts_then_read_anywhere() -> None:
    content = TemporaryBytes()
    content.append(ramp(10))
    content.append(ramp(0))
    content.append(ramp(20).reshape(10, 2)[:, 1])  # not contiguous: 1, 3 … 19
    found = np.zeros(6, np.float32)
    content.read_into(found, 4 * 8)
    np.testing.assert_array_equal(found, np.float32([8, 9, 1, 3, 5, 7]))
    content.read_into(found[:0], 0)
    content.close()


def test_bytes_when_four_threads_read_then_each_gets_its_own() -> None:
    content = TemporaryBytes()
    content.append(ramp(100_000))
    wrong: list[int] = []

    def read(seed: int) -> None:
        found = np.empty(500, np.float32)
        for start in np.random.default_rng(seed).integers(0, 99_500, 300).tolist():
            content.read_into(found, 4 * start)
            if not np.array_equal(found, ramp(500, start)):
                wrong.append(start)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    content.close()
    assert wrong == []


def test_bytes_when_closed_then_file_is_gone(folder: Path) -> None:
    content = TemporaryBytes()
    content.append(ramp(10))
    content.close()
    content.close()
    assert content.closed
    assert list(folder.iterdir()) == []
    with pytest.raises(ValueError, match="closed"):
        content.read_into(ramp(1), 0)


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_bytes_when_collected_then_file_is_gone(folder: Path) -> None:
    content = TemporaryBytes()
    assert open_files_in(folder) == 1
    assert list(folder.iterdir()) == []
    del content
    gc.collect()
    assert open_files_in(folder) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_bytes_when_an_exception_passes_then_file_is_gone(folder: Path) -> None:
    def fail() -> None:
        content = TemporaryBytes()
        content.append(ramp(10))
        raise RuntimeError("anything")

    with pytest.raises(RuntimeError):
        fail()
    gc.collect()
    assert open_files_in(folder) == 0


@pytest.mark.skipif(sys.platform == "win32", reason="limits of file size are of POSIX")
def test_bytes_when_writing_fails_then_one_line_with_the_cure(folder: Path) -> None:
    """A limit on file size stands for a full disk: both come as an error of write."""
    import resource

    content = TemporaryBytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
    try:
        with pytest.raises(NoRoomError) as caught:
            content.append(ramp(2_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        content.close()
    message = str(caught.value)
    assert f"in {folder} (File too large)" in message
    assert "set TMPDIR" in message
    assert "\n" not in message


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_bytes_when_disk_is_full_then_one_line_with_the_cure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Path("/dev/full").open("r+b", buffering=0) as full:
        monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full)
        content = TemporaryBytes()
        with pytest.raises(NoRoomError, match=r"No space left on device.*set TMPDIR"):
            content.append(ramp(10))


def test_bytes_when_folder_is_missing_then_one_line_with_the_cure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(NoRoomError, match=r"gone \(No such file.*set TMPDIR"):
        TemporaryBytes()
