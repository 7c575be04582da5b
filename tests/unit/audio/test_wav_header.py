"""Declared length of wav headers written by hand."""

import struct
from pathlib import Path

import pytest

from murmur_cli.audio.wav_header import read_wav_header

FORMAT = b"fmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16_000, 32_000, 2, 16)


def header(path: Path, *chunks: bytes, magic: bytes = b"RIFF") -> Path:
    body = b"WAVE" + b"".join(chunks)
    path.write_bytes(magic + struct.pack("<I", len(body)) + body)
    return path


def data(size: int) -> bytes:
    return b"data" + struct.pack("<I", size)


def test_wav_header_when_plain_then_bytes_over_rate(tmp_path: Path) -> None:
    found = read_wav_header(header(tmp_path / "a.wav", FORMAT, data(48_000)))
    assert found is not None
    assert found.declared_s == 1.5
    assert not found.placeholder


def test_wav_header_when_other_chunks_stand_before_then_skipped(tmp_path: Path) -> None:
    odd = b"LIST" + struct.pack("<I", 3) + b"abc\0"  # odd sizes are padded to even
    found = read_wav_header(header(tmp_path / "a.wav", odd, FORMAT, odd, data(32_000)))
    assert found is not None
    assert found.declared_s == 1.0


@pytest.mark.parametrize("size", [2**32 - 1, 2**32 - 37, 2**31 - 1, 0x7FFFF000, 2_000_000_000])
def test_wav_header_when_size_means_unknown_then_placeholder(tmp_path: Path, size: int) -> None:
    found = read_wav_header(header(tmp_path / "a.wav", FORMAT, data(size)))
    assert found is not None
    assert found.placeholder


@pytest.mark.parametrize("chunks", [(), (FORMAT,), (data(8),), (FORMAT[:10],)])
def test_wav_header_when_incomplete_then_none(tmp_path: Path, chunks: tuple[bytes, ...]) -> None:
    assert read_wav_header(header(tmp_path / "a.wav", *chunks)) is None


def test_wav_header_when_not_riff_then_none(tmp_path: Path) -> None:
    assert read_wav_header(header(tmp_path / "a.wav", FORMAT, data(8), magic=b"RF64")) is None
