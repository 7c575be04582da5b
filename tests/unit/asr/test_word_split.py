from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.asr.whisper.tokens import WhisperTokens, load_tokens
from murmur_cli.asr.whisper.word_split import TokenWord, split_words
from murmur_cli.types import TimeSpan, Word, join_words
from support.tiny_whisper import tiny_tokens

TINY = tiny_tokens()


def split_bytes(text: bytes, language: str = "en") -> tuple[TokenWord, ...]:
    """One token for each byte."""
    return split_words(list(text), TINY, language)


def test_words_when_spaced_then_each_with_its_tokens() -> None:
    assert split_bytes(b" ab cd") == (
        TokenWord("ab", True, (0, 1, 2)),
        TokenWord("cd", True, (3, 4, 5)),
    )


def test_first_word_when_without_space_then_no_space_before() -> None:
    assert [(w.text, w.space_before) for w in split_bytes(b"ab cd")] == [
        ("ab", False),
        ("cd", True),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" yes, no.", ["yes,", "no."]),
        (" don't stop", ["don't", "stop"]),
        (" wait... what?!", ["wait...", "what?!"]),
        (' he said "no" twice', ["he", "said", '"no"', "twice"]),
        (" (well) - so", ["(well)", "-", "so"]),
        (" -so", ["-so"]),
        (" 3 % of 4", ["3", "%", "of", "4"]),
        (" a & b", ["a", "&", "b"]),
        (" Bonjour !", ["Bonjour!"]),
        (" ¿qué? ", ["¿qué?"]),
        (" twenty-one", ["twenty-one"]),
        ("...", ["..."]),
        ("", []),
        ("   ", []),
    ],
)
def test_punctuation_when_split_then_with_its_word(text: str, words: list[str]) -> None:
    assert [word.text for word in split_bytes(text.encode())] == words


def test_characters_when_of_several_tokens_then_not_torn() -> None:
    # Three bytes each; an emoji of four inside a word.
    words = split_bytes("中文 🙂k".encode(), "zh")
    assert [(word.text, len(word.places)) for word in words] == [
        ("中", 3),
        ("文", 3),
        ("🙂", 5),
        ("k", 1),
    ]
    assert [word.text for word in split_bytes(" a🙂 b".encode())] == ["a🙂", "b"]


def test_places_when_split_then_all_tokens_in_order() -> None:
    text = " né, „so“ 🙂 (x)".encode()
    places = [place for word in split_bytes(text) for place in word.places]
    assert places == list(range(len(text)))


def test_bytes_when_never_completed_then_only_their_word_suffers() -> None:
    words = split_bytes(b" ab \xe4\xb8 cd ef")
    assert (words[0].text, words[-1].text) == ("ab", "ef")
    assert [place for word in words for place in word.places] == list(range(12))


def test_bytes_when_cut_at_the_end_then_shown_as_unfinished() -> None:
    assert [word.text for word in split_bytes(b" ab \xe4\xb8")] == ["ab", "�"]


# --- with the vocabulary of Whisper base ---------------------------------------------------------


@pytest.fixture(scope="module")
def base(whisper_base_folder: Path) -> WhisperTokens:
    return load_tokens(whisper_base_folder)


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        (" Well, I don't know.", "en", ["Well,", "I", "don't", "know."]),
        (
            " Antidisestablishmentarianism, really?",
            "en",
            ["Antidisestablishmentarianism,", "really?"],
        ),
        (
            " It's 10:30 a.m. on the U.S. coast",
            "en",
            ["It's", "10:30", "a.m.", "on", "the", "U.S.", "coast"],
        ),
        (' "Yes," she said - no!', "en", ['"Yes,"', "she", "said", "-", "no!"]),
        (" About 3 % of it", "en", ["About", "3", "%", "of", "it"]),
        (" Größe über alles", "de", ["Größe", "über", "alles"]),
        (" привет, мир", "ru", ["привет,", "мир"]),
        (" ok 🤷🏽‍♀️ then", "en", ["ok", "🤷🏽‍♀️", "then"]),
    ],
)
def test_base_when_spaced_script_then_words(
    base: WhisperTokens, text: str, language: str, words: list[str]
) -> None:
    found = split_words(base.tokenizer.encode(text, add_special_tokens=False).ids, base, language)
    assert [word.text for word in found] == words
    assert all(word.space_before for word in found)


@pytest.mark.embedded
def test_base_when_chinese_then_pieces_without_space_that_join_to_the_text(
    base: WhisperTokens,
) -> None:
    text = "今天天气很好，我们去齉公园。"  # 齉 takes three tokens
    ids = base.tokenizer.encode(text, add_special_tokens=False).ids
    found = split_words(ids, base, "zh")
    assert "".join(word.text for word in found) == text
    assert not any(word.space_before for word in found)
    assert any("好，" in word.text for word in found)
    assert "齉" in [word.text for word in found]
    assert [place for word in found for place in word.places] == list(range(len(ids)))


@pytest.mark.embedded
def test_base_when_words_are_joined_then_the_text_again(base: WhisperTokens) -> None:
    text = " So — um, 'twas (I think) 5 o'clock... right?"
    found = split_words(base.tokenizer.encode(text, add_special_tokens=False).ids, base, "en")
    words = [Word(word.text, TimeSpan(0, 1), word.space_before) for word in found]
    assert join_words(words).replace(" ", "") == text.replace(" ", "")
