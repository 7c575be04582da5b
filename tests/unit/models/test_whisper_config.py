import copy
from typing import Any

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.whisper_config import WhisperTokens, generation_config, read_tokens

SPECIAL = [
    "<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|de|>", "<|yue|>", "<|translate|>",
    "<|transcribe|>", "<|startoflm|>", "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>",
    "<|0.00|>",
]  # fmt: skip
FIRST = 100
TOKENIZER: dict[str, Any] = {
    "added_tokens": [{"id": FIRST + place, "content": name} for place, name in enumerate(SPECIAL)]
}
CONFIG = {
    "vocab_size": 51_865,
    "decoder_layers": 2,
    "decoder_attention_heads": 3,
    "max_target_positions": 448,
}
FACTS: dict[str, Any] = {
    "alignment_heads": [[1, 2]],
    "lang_ids": [102, 103, 104],
    "suppress_ids": [1, 2],
    "suppress_ids_begin": [3],
}
TOKENS = read_tokens(TOKENIZER, "net")


def test_tokens_when_tokenizer_is_whole_then_ids_are_its_own() -> None:
    assert (
        WhisperTokens(
            start=101,
            end=100,
            no_timestamps=110,
            previous=108,
            tasks={"transcribe": 106, "translate": 105},
            languages={"<|de|>": 103, "<|en|>": 102, "<|yue|>": 104},
        )
        == TOKENS
    )


def test_tokens_when_one_is_missing_then_error_names_it() -> None:
    damaged = {"added_tokens": TOKENIZER["added_tokens"][:-2]}
    with pytest.raises(ModelError, match="lacks the tokens notimestamps"):
        read_tokens(damaged, "net")


def test_generation_when_multilingual_then_languages_and_tasks_are_listed() -> None:
    made = generation_config(FACTS, CONFIG, TOKENS, "net")
    assert made["is_multilingual"] is True
    assert made["lang_to_id"] == {"<|de|>": 103, "<|en|>": 102, "<|yue|>": 104}
    assert made["task_to_id"] == {"transcribe": 106, "translate": 105}
    assert made["no_timestamps_token_id"] == 110
    assert made["decoder_start_token_id"] == 101
    assert made["eos_token_id"] == 100
    assert made["suppress_tokens"] == [1, 2]
    assert made["begin_suppress_tokens"] == [3]
    assert made["alignment_heads"] == [[1, 2]]
    assert made["max_length"] == 448


def test_generation_when_english_only_then_no_languages_or_tasks() -> None:
    made = generation_config(FACTS, {**CONFIG, "vocab_size": 51_864}, TOKENS, "net")
    assert made["is_multilingual"] is False
    assert "lang_to_id" not in made
    assert "task_to_id" not in made


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("alignment_heads", [[2, 0]], "head 2/0 is outside 2 layers of 3 heads"),
        ("alignment_heads", [[0, 3]], "head 0/3 is outside 2 layers of 3 heads"),
        ("suppress_ids", [51_865], "suppress_ids holds tokens outside"),
        ("suppress_ids_begin", [-1], "suppress_ids_begin holds tokens outside"),
        ("lang_ids", [102, 103], "differ in the languages"),
    ],
)
def test_generation_when_facts_do_not_fit_then_error_says_what(
    key: str, value: list[Any], message: str
) -> None:
    facts = copy.deepcopy(FACTS)
    facts[key] = value
    with pytest.raises(ModelError, match=message):
        generation_config(facts, CONFIG, TOKENS, "net")
