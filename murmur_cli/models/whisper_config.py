"""transformers' configuration files for a Whisper network that came without them.

What is in the weights or the tokenizer is taken from there; the rest are constants of Whisper
(github.com/openai/whisper, `audio.py`, `tokenizer.py`, `decoding.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from murmur_cli.errors import ModelError
from murmur_cli.models.ctranslate2_file import CTranslate2Model
from murmur_cli.models.whisper_names import HalfTensor, count_heads, count_layers

MULTILINGUAL_VOCABULARY = 51_865
"""Rows of the token embedding from which on a Whisper network is multilingual; OpenAI's rule."""

MAX_INITIAL_TIMESTAMP_INDEX = 50
"""The first time is at most 1.0 s, in steps of 0.02 s."""

_LANGUAGE = re.compile(r"<\|[a-z]{2,3}\|>")


@dataclass(frozen=True, slots=True)
class WhisperTokens:
    """Ids of the special tokens.

    Attributes:
        start, end: of a transcript.
        no_timestamps: id; the token for 0.00 s is the next one.
        previous: opens the text that came before.
        tasks: 'transcribe' and 'translate' → id.
        languages: '<|en|>' … → id.
    """

    start: int
    end: int
    no_timestamps: int
    previous: int
    tasks: dict[str, int]
    languages: dict[str, int]


def read_tokens(tokenizer: dict[str, Any], label: str) -> WhisperTokens:
    """Special tokens of a parsed tokenizer.json.

    Raises:
        ModelError: one is missing.
    """
    ids = {entry["content"]: int(entry["id"]) for entry in tokenizer["added_tokens"]}
    needed = ["startoftranscript", "endoftext", "notimestamps", "startofprev"]
    tasks = ["transcribe", "translate"]
    missing = [name for name in needed + tasks if f"<|{name}|>" not in ids]
    if missing:
        raise ModelError(f"{label}: tokenizer.json lacks the tokens {', '.join(missing)}")
    start, end, no_timestamps, previous = (ids[f"<|{name}|>"] for name in needed)
    return WhisperTokens(
        start=start,
        end=end,
        no_timestamps=no_timestamps,
        previous=previous,
        tasks={task: ids[f"<|{task}|>"] for task in tasks},
        languages={
            token: number
            for token, number in sorted(ids.items())
            # Languages stand between the start and the tasks; nothing else there looks so.
            if start < number < min(ids[f"<|{task}|>"] for task in tasks)
            and _LANGUAGE.fullmatch(token)
        },
    )


def model_config(
    model: CTranslate2Model, tensors: dict[str, HalfTensor], tokens: WhisperTokens
) -> dict[str, Any]:
    """config.json. `tensors` carry transformers' names; sizes are read off their shapes."""
    vocabulary, width = tensors["model.decoder.embed_tokens.weight"].shape
    return {
        "architectures": ["WhisperForConditionalGeneration"],
        "model_type": "whisper",
        "is_encoder_decoder": True,
        "dtype": "float16",
        "vocab_size": vocabulary,
        "d_model": width,
        "num_mel_bins": tensors["model.encoder.conv1.weight"].shape[1],
        "max_source_positions": tensors["model.encoder.embed_positions.weight"].shape[0],
        "max_target_positions": tensors["model.decoder.embed_positions.weight"].shape[0],
        "encoder_layers": count_layers(model, "encoder"),
        "decoder_layers": count_layers(model, "decoder"),
        "encoder_attention_heads": count_heads(model, "encoder"),
        "decoder_attention_heads": count_heads(model, "decoder"),
        "encoder_ffn_dim": tensors["model.encoder.layers.0.fc1.weight"].shape[0],
        "decoder_ffn_dim": tensors["model.decoder.layers.0.fc1.weight"].shape[0],
        "activation_function": "gelu",
        "scale_embedding": False,
        "tie_word_embeddings": True,
        "decoder_start_token_id": tokens.start,
        "bos_token_id": tokens.end,
        "eos_token_id": tokens.end,
        "pad_token_id": tokens.end,
    }


def generation_config(
    facts: dict[str, Any], config: dict[str, Any], tokens: WhisperTokens, label: str
) -> dict[str, Any]:
    """generation_config.json, from CTranslate2's config.json (`facts`) and the tokenizer.

    Raises:
        ModelError: the two disagree on the languages, or `facts` names heads or tokens that
            the network does not have.
    """
    _check_facts(facts, config, label)
    result: dict[str, Any] = {
        "alignment_heads": facts["alignment_heads"],
        "suppress_tokens": facts["suppress_ids"],
        "begin_suppress_tokens": facts["suppress_ids_begin"],
        "decoder_start_token_id": tokens.start,
        "bos_token_id": tokens.end,
        "eos_token_id": tokens.end,
        "pad_token_id": tokens.end,
        "prev_sot_token_id": tokens.previous,
        "no_timestamps_token_id": tokens.no_timestamps,
        "max_initial_timestamp_index": MAX_INITIAL_TIMESTAMP_INDEX,
        "max_length": config["max_target_positions"],
        "return_timestamps": False,
        "is_multilingual": config["vocab_size"] >= MULTILINGUAL_VOCABULARY,
    }
    if result["is_multilingual"]:
        if sorted(tokens.languages.values()) != sorted(facts["lang_ids"]):
            raise ModelError(f"{label}: config.json and tokenizer.json differ in the languages")
        result["lang_to_id"] = tokens.languages
        result["task_to_id"] = tokens.tasks
    return result


def preprocessor_config(config: dict[str, Any]) -> dict[str, Any]:
    """preprocessor_config.json: how samples become the spectrogram that the network takes."""
    return {
        "feature_extractor_type": "WhisperFeatureExtractor",
        "feature_size": config["num_mel_bins"],
        "sampling_rate": 16_000,
        "n_fft": 400,
        "hop_length": 160,
        "chunk_length": 30,
        "n_samples": 480_000,
        "nb_max_frames": 3_000,
        "padding_side": "right",
        "padding_value": 0.0,
        "return_attention_mask": False,
    }


def _check_facts(facts: dict[str, Any], config: dict[str, Any], label: str) -> None:
    layers, heads = config["decoder_layers"], config["decoder_attention_heads"]
    for layer, head in facts["alignment_heads"]:
        if not (0 <= layer < layers and 0 <= head < heads):
            raise ModelError(
                f"{label}: alignment head {layer}/{head} is outside {layers} layers "
                f"of {heads} heads"
            )
    for name in ("suppress_ids", "suppress_ids_begin"):
        if not all(0 <= token < config["vocab_size"] for token in facts[name]):
            raise ModelError(f"{label}: {name} holds tokens outside the vocabulary")
