"""The tiny random Whisper as a folder that `--model` takes."""

from __future__ import annotations

import json
from pathlib import Path

import torch

from support.tiny_whisper import (
    END,
    ENGLISH,
    GERMAN,
    NO_TIMES,
    START,
    TRANSCRIBE,
    TRANSLATE,
    byte_tokenizer,
    tiny_whisper,
)


def write_tiny_folder(folder: Path, *, half_weights: bool = False) -> Path:
    """Weights, tokenizer and generation facts, as transformers writes them.

    `half_weights` rounds the weights to numbers that float16 has, as published ones are.
    """
    model = tiny_whisper(seed=1)
    if half_weights:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.half())
    model.save_pretrained(folder)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    facts = {
        "no_timestamps_token_id": NO_TIMES,
        "eos_token_id": END,
        "decoder_start_token_id": START,
        "is_multilingual": True,
        "lang_to_id": {"<|en|>": ENGLISH, "<|de|>": GERMAN},
        "task_to_id": {"transcribe": TRANSCRIBE, "translate": TRANSLATE},
        "alignment_heads": [[1, 0]],
    }
    (folder / "generation_config.json").write_text(json.dumps(facts))
    return folder
