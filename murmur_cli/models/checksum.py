"""SHA-256 of files; a file once checked is not read again until it changes.

The record of a check lies in `cache_folder()/checked/`, one small JSON file for each path. It
holds size and modification time (nanoseconds) of the file; if either differs, the file is read
again. This guards against damage and mix-ups, not against someone who can write to both the
file and the user's cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from murmur_cli.models.cache_folder import cache_folder


def sha256_of_bytes_in(paths: tuple[Path, ...]) -> str:
    """Hex SHA-256 of the bytes of the files, joined in order.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256()
    buffer = bytearray(1 << 20)
    view = memoryview(buffer)
    for path in paths:
        with path.open("rb") as file:
            while count := file.readinto(buffer):
                digest.update(view[:count])
    return digest.hexdigest()


def sha256_of_file(path: Path) -> str:
    """Hex SHA-256 of a file, from the record of an earlier check if the file is unchanged.

    Raises:
        OSError: the file cannot be read.
    """
    facts = path.stat()
    stamp = {"path": str(path.absolute()), "size": facts.st_size, "mtime_ns": facts.st_mtime_ns}
    record_path = _record_path(path)
    known = _read_record(record_path)
    if known is not None and all(known.get(key) == value for key, value in stamp.items()):
        return str(known["sha256"])
    sha256 = sha256_of_bytes_in((path,))
    _write_record(record_path, {**stamp, "sha256": sha256})
    return sha256


def _record_path(path: Path) -> Path:
    name = hashlib.sha256(str(path.absolute()).encode()).hexdigest()
    return cache_folder() / "checked" / f"{name}.json"


def _read_record(record_path: Path) -> dict[str, object] | None:
    try:
        record = json.loads(record_path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None  # no record, or a damaged one: the file is read again
    return record if isinstance(record, dict) and "sha256" in record else None


def _write_record(record_path: Path, record: dict[str, object]) -> None:
    try:
        record_path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=record_path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(record, file)
        os.replace(name, record_path)
    except OSError:
        # A cache that cannot be written costs one more reading next time, nothing else;
        # `murmur doctor` tells of it.
        return
