"""The errors a user can meet, each with its exit code.

    MurmurError
    ├── UsageError        2   the call itself is wrong: options, paths, nothing to do
    ├── ModelError        4   a model, its weights or credentials are missing or damaged
    └── RecordingError    1   one recording cannot be used; the others go on

Exit codes of the program: 0 fine, 1 some recordings failed, 2 usage, 3 no recording
could be processed, 4 model or credentials missing, 130 interrupted.

A message is one plain line that names the thing, the value, the limit and the cure.
"""

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the `murmur` program; documented in README.md."""

    OK = 0
    SOME_FAILED = 1
    USAGE = 2
    NOTHING_PROCESSED = 3
    MODEL_MISSING = 4
    INTERRUPTED = 130


class MurmurError(Exception):
    """Base of all errors that are shown as one plain line."""

    exit_code: ExitCode = ExitCode.SOME_FAILED


class UsageError(MurmurError):
    """The call is wrong; raised before any model loads."""

    exit_code = ExitCode.USAGE


class ModelError(MurmurError):
    """A model, its weights or its credentials are missing, damaged or not supported."""

    exit_code = ExitCode.MODEL_MISSING


class RecordingError(MurmurError):
    """This recording cannot be read or processed; the batch goes on with the next."""

    exit_code = ExitCode.SOME_FAILED
