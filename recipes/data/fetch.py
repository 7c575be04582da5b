"""Files from the web: whole or not at all, going on after a break, in one clear line if not."""

from __future__ import annotations

import hashlib
import os
import tarfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Mapping
from pathlib import Path

from murmur_cli.errors import ExitCode, MurmurError

BLOCK_BYTES = 1 << 20
TIMEOUT_S = 60.0
PARTIAL_CONTENT = 206


class FetchError(MurmurError):
    """The data is not here and cannot be had; nothing was transcribed."""

    exit_code = ExitCode.NOTHING_PROCESSED


def fetch(url: str, path: Path, sha256: str | None = None) -> Path:
    """The file of a URL as `path`; one that is there is kept. A broken-off one goes on.

    Raises:
        FetchError: it cannot be had, or is not what `sha256` says.
    """
    if path.is_file():
        return path
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _download(url, partial)
    except (OSError, urllib.error.URLError) as error:
        reason = getattr(error, "reason", None) or error
        text = " ".join(str(reason).split())
        raise FetchError(
            f"{path.name} cannot be fetched from {url} ({text}); put it at {path} by hand, or "
            "call again with a network"
        ) from error
    if sha256 is not None and (found := _sha256(partial)) != sha256:
        raise FetchError(
            f"{path.name} from {url} has SHA-256 {found}, not {sha256}; delete {partial}"
        )
    os.replace(partial, path)
    return path


def fetch_archives(urls: tuple[str, ...], folder: Path, sha256: Mapping[str, str]) -> None:
    """Fetch archives and unpack each once, in `folder`.

    Raises:
        FetchError: one cannot be had or unpacked.
    """
    for url in urls:
        place = archive_place(url, folder)
        mark = unpacked_mark(place)
        if mark.exists():
            continue
        unpack(fetch(url, place, sha256.get(place.name)), folder)
        mark.touch()


def archive_place(url: str, folder: Path) -> Path:
    """Where an archive is put."""
    return folder / url.rsplit("/", 1)[-1]


def unpacked_mark(archive: Path) -> Path:
    """The file that says that an archive was unpacked; the archive may be deleted then."""
    return archive.with_name(f".{archive.name}.unpacked")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a zip or tar file; members that lead out of the folder are refused.

    Raises:
        FetchError: it is damaged, or of no kind that is known.
    """
    try:
        if zipfile.is_zipfile(archive):
            with zipfile.ZipFile(archive) as zipped:
                zipped.extractall(folder)  # drops '..' and roots by itself
        elif tarfile.is_tarfile(archive):
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")
        else:
            raise FetchError(f"{archive}: neither zip nor tar; delete it and call again")
    except (OSError, tarfile.TarError, zipfile.BadZipFile) as error:
        raise FetchError(f"{archive}: cannot be unpacked ({error}); delete it") from error


def _download(url: str, partial: Path) -> None:
    have = partial.stat().st_size if partial.exists() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    request = urllib.request.Request(url, headers=headers)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        # A server that does not know ranges sends the whole file again.
        mode = "ab" if have and answer.status == PARTIAL_CONTENT else "wb"
        expected = answer.headers.get("Content-Length")
        written = 0
        with partial.open(mode) as file:
            while block := answer.read(BLOCK_BYTES):
                file.write(block)
                written += len(block)
    if expected is not None and written < int(expected):
        raise OSError(f"{written} of {expected} bytes came")


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
