"""The normalisers by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import version

from murmur_cli.errors import UsageError
from murmur_cli.near_name import did_you_mean
from murmur_cli.scoring.normalizers import basic, chime8, whisper
from murmur_cli.scoring.normalizers.base import Normalizer

ENGLISH = "en"
DEFAULT = "basic"


def make_normalizer(
    name: str, *, language: str = ENGLISH, keep_fillers: bool = False
) -> Normalizer:
    """The normaliser of that name.

    Raises:
        UsageError: an unknown name, a language that its rules are not for, or fillers to keep that
            its rules are about.
        ModelError: a table that its rules need is not installed.
    """
    if name not in NORMALIZERS:
        hint = did_you_mean(name, NORMALIZERS)
        raise UsageError(f"--norm {name}: unknown{hint}; known are {', '.join(NORMALIZERS)}")
    if keep_fillers and name != DEFAULT:
        raise UsageError(
            f"--keep-fillers goes with --norm {DEFAULT}; '{name}' has rules of its own"
        )
    return NORMALIZERS[name](language, keep_fillers)


def _none(language: str, keep_fillers: bool) -> Normalizer:
    return Normalizer("none", "text as it is, words between spaces", str)


def _basic(language: str, keep_fillers: bool) -> Normalizer:
    drops = language == ENGLISH and not keep_fillers
    fillers = "no English fillers" if drops else "fillers kept"
    return Normalizer(
        "basic",
        f"lower case, no punctuation, no [tags], {fillers}",
        partial(basic.rewrite, fillers=basic.FILLERS if drops else frozenset()),
    )


def _whisper(language: str, keep_fillers: bool) -> Normalizer:
    library = f"transformers {version('transformers')}"
    if language != ENGLISH:
        return Normalizer(
            "whisper",
            f"Whisper's basic rules for '{language}', of {library}",
            whisper.other_languages(),
        )
    table = f"spellings of whisper-normalizer {version('whisper-normalizer')}"
    return Normalizer(
        "whisper", f"Whisper's English rules, of {library}; {table}", whisper.english()
    )


def _chime8(language: str, keep_fillers: bool) -> Normalizer:
    if language != ENGLISH:
        raise UsageError(f"--norm chime8 is for English; for '{language}' take whisper or basic")
    return Normalizer("chime8", "rules of CHiME-8 for English", chime8.english())


NORMALIZERS: dict[str, Callable[[str, bool], Normalizer]] = {
    "none": _none,
    "basic": _basic,
    "whisper": _whisper,
    "chime8": _chime8,
}
