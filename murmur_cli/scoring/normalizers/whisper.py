"""Whisper's own normalisers, as transformers carries them.

English: contractions, titles, numbers as digits, American spellings, no fillers. Other languages:
lower case, no symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from murmur_cli.scoring.normalizers.spelling import whisper_spellings


def english() -> Callable[[str], str]:
    """Whisper's EnglishTextNormalizer with its table of spellings.

    Raises:
        ModelError: the table is missing.
    """
    from transformers.models.whisper.english_normalizer import EnglishTextNormalizer

    return cast("Callable[[str], str]", EnglishTextNormalizer(whisper_spellings()))


def other_languages() -> Callable[[str], str]:
    """Whisper's BasicTextNormalizer; it keeps diacritics."""
    from transformers.models.whisper.english_normalizer import BasicTextNormalizer

    return cast("Callable[[str], str]", BasicTextNormalizer())
