"""What every normaliser gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from murmur_cli.scoring.normalizers.unspaced import split_unspaced


@dataclass(frozen=True, slots=True)
class Normalizer:
    """Brings both sides to one spelling.

    Attributes:
        name: as given to --norm.
        description: what it does, in one line, with the versions it depends on.
        rewrite: text -> text in the spelling that is compared, words between spaces.
    """

    name: str
    description: str
    rewrite: Callable[[str], str]

    def words(self, text: str) -> list[str]:
        """What is compared: words, and single characters where a script sets no spaces."""
        return [token for word in self.rewrite(text).split() for token in split_unspaced(word)]
