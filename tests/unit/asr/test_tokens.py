from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from murmur_cli.asr.whisper.tokens import load_tokens
from murmur_cli.errors import ModelError, UsageError
from support.tiny_whisper import (
    END,
    ENGLISH,
    GERMAN,
    NO_SPEECH,
    NO_TIMES,
    START,
    TIMES_BEGIN,
    TRANSCRIBE,
    TRANSLATE,
    byte_tokenizer,
    tiny_tokens,
)

FACTS: dict[str, Any] = {
    "no_timestamps_token_id": NO_TIMES,
    "eos_token_id": END,
    "decoder_start_token_id": START,
    "is_multilingual": True,
    "lang_to_id": {"<|en|>": ENGLISH, "<|de|>": GERMAN},
    "task_to_id": {"transcribe": TRANSCRIBE, "translate": TRANSLATE},
    "suppress_tokens": [3, 1],
    "max_initial_timestamp_index": 50,
    "alignment_heads": [[1, 0], [1, 2]],
}


def write_folder(folder: Path, **changes: Any) -> Path:
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    facts = {key: value for key, value in (FACTS | changes).items() if value is not ...}
    (folder / "generation_config.json").write_text(json.dumps(facts))
    return folder


def test_load_when_folder_is_complete_then_ids_from_its_files(tmp_path: Path) -> None:
    tokens = load_tokens(write_folder(tmp_path))
    assert (tokens.start, tokens.end) == (START, END)
    assert (tokens.no_speech, tokens.timestamp_begin) == (NO_SPEECH, TIMES_BEGIN)
    assert tokens.languages == {"en": ENGLISH, "de": GERMAN}
    # The two that the file names, and all specials between end of text and the times.
    assert tokens.suppressed == (1, 3, *range(START, TIMES_BEGIN))
    assert tokens.alignment_heads == ((1, 0), (1, 2))
    assert tokens.decode(list("né".encode())) == "né"
    assert tokens.seconds(TIMES_BEGIN + 75) == pytest.approx(1.5)


def test_load_when_end_is_a_list_then_its_first(tmp_path: Path) -> None:
    assert load_tokens(write_folder(tmp_path, eos_token_id=[END, 3])).end == END


def test_load_when_english_only_then_no_languages(tmp_path: Path) -> None:
    folder = write_folder(tmp_path, is_multilingual=False, lang_to_id=..., task_to_id=...)
    assert not load_tokens(folder).is_multilingual


@pytest.mark.parametrize("name", ["tokenizer.json", "generation_config.json"])
def test_load_when_file_is_missing_then_model_error_names_it(tmp_path: Path, name: str) -> None:
    (write_folder(tmp_path) / name).unlink()
    with pytest.raises(ModelError, match=rf"{tmp_path.name}: {name} is missing"):
        load_tokens(tmp_path)


@pytest.mark.parametrize("name", ["tokenizer.json", "generation_config.json"])
def test_load_when_file_is_damaged_then_model_error_names_it(tmp_path: Path, name: str) -> None:
    (write_folder(tmp_path) / name).write_text("{ nonsense")
    with pytest.raises(ModelError, match=rf"cannot read {name}: "):
        load_tokens(tmp_path)


def test_load_when_it_is_not_whisper_then_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="has no 'no_timestamps_token_id'; it is not a Whisper"):
        load_tokens(write_folder(tmp_path, no_timestamps_token_id=...))


def test_load_when_without_alignment_heads_then_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="alignment_heads is empty"):
        load_tokens(write_folder(tmp_path, alignment_heads=[]))


def test_prompt_when_multilingual_then_language_and_task() -> None:
    tokens = tiny_tokens()
    assert tokens.prompt("de", "translate") == (START, GERMAN, TRANSLATE)
    with pytest.raises(UsageError, match="--language fr: unknown to this model; known: de en"):
        tokens.prompt("fr", "transcribe")


def test_prompt_when_english_only_then_start_and_nothing_else() -> None:
    tokens = tiny_tokens(multilingual=False)
    assert tokens.prompt("en", "transcribe") == (START,)
    assert tokens.prompt(None, "transcribe") == (START,)
    for language, task in (("de", "transcribe"), ("en", "translate")):
        with pytest.raises(UsageError, match="this model is English only"):
            tokens.prompt(language, task)


@pytest.mark.embedded
def test_load_when_whisper_base_then_openais_ids(whisper_base_folder: Path) -> None:
    tokens = load_tokens(whisper_base_folder)
    assert (tokens.end, tokens.start) == (50257, 50258)
    assert (tokens.no_speech, tokens.timestamp_begin) == (50362, 50364)
    assert len(tokens.languages) == 99
    assert tokens.prompt("zh", "translate") == (50258, 50260, 50358)
    assert set(range(50258, 50364)) <= set(tokens.suppressed)


@pytest.mark.embedded
def test_prompt_when_context_then_it_stands_before_the_transcript(
    whisper_base_folder: Path,
) -> None:
    """`<|startofprev|>` and the text with a space before it (openai/whisper, decoding.py)."""
    tokens = load_tokens(whisper_base_folder)
    prompt = tokens.prompt("en", "transcribe", "Murmur,\n  VoxZip")
    assert prompt[0] == 50361
    assert tokens.decode(list(prompt[1:-3])) == " Murmur, VoxZip"
    assert prompt[-3:] == tokens.prompt("en", "transcribe")
    assert tokens.prompt("en", "transcribe", " \n") == prompt[-3:]


@pytest.mark.embedded
def test_prompt_when_context_is_too_long_then_usage_error(whisper_base_folder: Path) -> None:
    tokens = load_tokens(whisper_base_folder)
    tokens.prompt("en", "transcribe", "name " * 220)
    with pytest.raises(UsageError, match="221 tokens, Whisper takes at most 220"):
        tokens.prompt("en", "transcribe", "name " * 221)


def test_prompt_when_vocabulary_has_no_opening_for_context_then_usage_error() -> None:
    with pytest.raises(UsageError, match="takes none"):
        tiny_tokens().prompt("de", "translate", "name")
