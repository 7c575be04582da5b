"""Files on disk: each one is there whole or not at all, and never in place of an input."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from murmur_cli.errors import RecordingError, UsageError
from murmur_cli.types import Transcript
from murmur_cli.writers.registry import WRITERS

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


def check_directory(directory: Path, option: str = "-o") -> None:
    """Create the folder for the results if need be, and try to write there.

    option: that names the folder or a file in it.

    Raises:
        UsageError: it is a file, cannot be created or cannot be written to.
    """
    if directory.is_file():
        raise UsageError(f"output folder {directory} is a file; give a folder to {option}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = _temporary_path(directory)
        os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        probe.unlink()
    except OSError as error:
        raise UsageError(
            f"output folder {directory} cannot be written to ({error.strerror}); "
            f"give another one with {option}"
        ) from error


def output_paths(formats: Sequence[str], directory: Path, stem: str) -> tuple[Path, ...]:
    """The files that `write_outputs` writes, in the order of the formats."""
    return tuple(directory / (stem + WRITERS[name].extension) for name in formats)


def check_inputs_kept(inputs: Iterable[Path], outputs: Iterable[Path]) -> None:
    """Refuse outputs that would replace an input.

    Raises:
        UsageError: an output is the same file as an input, also through links or letter case.
    """
    places = {_place(path): path for path in inputs}
    for output in outputs:
        place = _place(output)
        if place is not None and (taken := places.get(place)) is not None:
            raise UsageError(
                f"output {output} would overwrite the input {taken}; give another folder with -o"
            )


def write_outputs(
    transcript: Transcript, formats: Sequence[str], directory: Path, stem: str
) -> tuple[Path, ...]:
    """Write the transcript in each format as `directory/stem.extension`; return the paths.

    Everything is rendered before the first file is written. A file that exists is replaced in
    one step; a file that was finished stays when a later one fails.

    Raises:
        RecordingError: a file cannot be written, or would replace the recording itself.
    """
    paths = output_paths(formats, directory, stem)
    try:
        check_inputs_kept([transcript.facts.path], paths)
    except UsageError as error:
        raise RecordingError(str(error)) from error
    contents = [WRITERS[name].render(transcript) for name in formats]
    for path, content in zip(paths, contents, strict=True):
        # backslashreplace: an undecodable byte of a file name is legal as an escape in JSON.
        write_whole(path, content.encode("utf-8", "backslashreplace"))
    return paths


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all; one that exists is replaced.

    Raises:
        RecordingError: it cannot be written.
    """
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes]) -> None:
    """Write files of which each is there whole or not at all; those that exist are replaced.

    All are written under other names before the first one is replaced, so a full disk changes
    nothing; they are replaced in the order given.

    Raises:
        RecordingError: one cannot be written.
    """
    written: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            with _plain_errors(path, len(content)):
                written[path] = _temporary_path(path.parent)
                _write_new(written[path], content)
        for path, temporary in written.items():
            with _plain_errors(path, len(contents[path])):
                os.replace(temporary, path)
    finally:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)


def _write_new(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _plain_errors(path: Path, size: int) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise RecordingError(
                f"no space left for {path} ({size} bytes); free some or give another folder with -o"
            ) from error
        raise RecordingError(f"{path} cannot be written ({error.strerror})") from error


def _temporary_path(directory: Path) -> Path:
    # A short name of its own: the final name may already be as long as the file system allows.
    return directory / f".murmur-{secrets.token_hex(8)}.tmp"


def _place(path: Path) -> tuple[int, int] | None:
    """Which file this is, whatever its name; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
