"""The rules of CHiME-8 (DASR and NOTSOFAR-1), for English.

They are Whisper's with these differences: sounds such as 'hmm' are made alike and then left out,
digits become words instead of words digits, some spellings are added, and the result does not
change when it is normalised again. Rules: https://github.com/chimechallenge/chime-utils (MIT),
`text_norm`; some are odd ('1000' is 'thousand', "ain't" is 'ain not', 'sci-fi' is 'swifi') and
kept, since figures are compared under them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from murmur_cli.errors import MurmurError
from murmur_cli.scoring.normalizers.spelling import whisper_spellings

_WHOLE_WORDS_FIRST = {"ain't": "ain not", "han't": "has not", "shan't": "shall not"}
_NOT_SPELLINGS = ("mhm", "mmm")  # Whisper's table has them; here 'hmm' is left out
_BEFORE_CONTRACTIONS = {
    "’": "'",
    r"\b(?:hm+|mhm|mm+|m+h|um+|uhm+)\b": "hmm",
    r"\b(?:a+h+|ha+)\b": "ah",
    r"[!?.]+(?=$|\s)": "",
    r"\b(?:o+h+|h+o+)\b": "oh",
    r"\b(?:u+h+|h+u+|h+u+h+)\b": "uh",
    r"\bwi\sfi\b": "wifi",
    r"\bgoin\b": "going",
    r"\wi-fi\b": "wifi",
}
_AFTER_CONTRACTIONS = {
    r"\bokay\b": "ok",
    r"\bsetup\b": "set up",
    r"\beveryday\b": "every day",
}
_LEFT_OUT = re.compile(r"\b(?:hmm|uh|ah|eh)\b")
_KEPT_SYMBOLS = ".%$¢€£"
_MOST_PASSES = 5


def english() -> Callable[[str], str]:
    """Text -> text under the rules, repeated until it does not change.

    Raises:
        ModelError: Whisper's table of spellings is missing.
    """
    one_pass = _one_pass()

    def rewrite(text: str) -> str:
        before = text
        for _ in range(_MOST_PASSES):
            after = one_pass(before)
            if after == before:
                return after
            before = after
        raise MurmurError(f"'{text[:60]}' changes with every pass of chime8; take --norm whisper")

    return rewrite


def _one_pass() -> Callable[[str], str]:
    from transformers.models.whisper.english_normalizer import (
        EnglishTextNormalizer,
        remove_symbols_and_diacritics,
    )

    contractions: dict[str, str] = EnglishTextNormalizer({}).replacers
    replacements = [
        (re.compile(pattern), replacement)
        for pattern, replacement in (
            *_BEFORE_CONTRACTIONS.items(),
            *contractions.items(),
            *_AFTER_CONTRACTIONS.items(),
        )
    ]
    spellings = whisper_spellings() | {"archaeology": "archeology"}
    for sound in _NOT_SPELLINGS:
        spellings.pop(sound, None)
    in_words = _digits_in_words()

    def rewrite(text: str) -> str:
        text = re.sub(r"[<\[][^>\]]*[>\]]", "", text.lower())
        text = re.sub(r"\(([^)]+?)\)", "", text)
        text = " ".join(_WHOLE_WORDS_FIRST.get(word, word) for word in text.split())
        text = re.sub(r"\s+'", "'", text)
        for pattern, replacement in replacements:
            text = pattern.sub(replacement, text)
        text = re.sub(r"(\d),(\d)", r"\1\2", text)
        text = re.sub(r"\.([^0-9]|$)", r" \1", text)
        text = in_words(remove_symbols_and_diacritics(text, keep=_KEPT_SYMBOLS))
        text = " ".join(spellings.get(word, word) for word in text.split())
        text = re.sub(r"[.$¢€£]([^0-9])", r" \1", text)
        text = re.sub(r"([^0-9])%", r"\1 ", text)
        return " ".join(_LEFT_OUT.sub("", text).split())

    return rewrite


def _digits_in_words() -> Callable[[str], str]:
    """Whole numbers up to 1000, ordinals and plurals of small ones, sums of dollars, percents."""
    from transformers.models.whisper.english_normalizer import EnglishNumberNormalizer

    names = EnglishNumberNormalizer()
    small = {number: name for name, number in {**names.ones, **names.tens}.items()}
    special = {0: "zero", 100: "hundred", 1000: "thousand"}
    suffixed = {
        f"{number}{suffix}": name
        for table in (names.tens_suffixed, names.ones_suffixed)
        for name, (number, suffix) in table.items()
    }

    def number_in_words(word: str) -> str:
        number = int(word)
        if word == "000":
            return "thousand"
        if number in special:
            return special[number]
        if number > 1000:
            return word
        hundreds, rest = divmod(number, 100)
        parts = [f"{small[hundreds]} hundred"] if hundreds else []
        if rest in small:
            parts.append(small[rest])
        elif rest:
            parts += [small[rest // 10 * 10], small[rest % 10]]
        return " ".join(parts)

    def rewrite(text: str) -> str:
        text = re.sub(r"\$(\d+(\.\d+)?)", r"\1 dollars", text)
        text = re.sub(r"(\d+(\.\d+)?)\$", r"\1 dollars", text)
        text = re.sub(r"(\d+(\.\d+)?)%", r"\1 percent", text)
        return " ".join(
            number_in_words(word) if word.isdecimal() else suffixed.get(word, word)
            for word in text.split()
        )

    return rewrite
