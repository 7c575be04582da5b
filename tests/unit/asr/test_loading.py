"""A folder as transformers writes it -> a backend that transcribes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from murmur_cli.asr.whisper.backend import WhisperBackend
from murmur_cli.asr.whisper.loading import load_whisper
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.types import Chunk, ModelIdentity, SampleSpan, Window
from support.recognise import recognise
from support.tiny_whisper import (
    END,
    ENGLISH,
    GERMAN,
    NO_TIMES,
    START,
    TRANSCRIBE,
    TRANSLATE,
    byte_tokenizer,
    chirp,
    tiny_whisper,
)

IDENTITY = ModelIdentity("tiny", "random", "0" * 64, "none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tiny_whisper(seed=1)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(parameter.half())
    model.save_pretrained(tmp_path)
    byte_tokenizer().save(str(tmp_path / "tokenizer.json"))
    facts = {
        "no_timestamps_token_id": NO_TIMES,
        "eos_token_id": END,
        "decoder_start_token_id": START,
        "is_multilingual": True,
        "lang_to_id": {"<|en|>": ENGLISH, "<|de|>": GERMAN},
        "task_to_id": {"transcribe": TRANSCRIBE, "translate": TRANSLATE},
        "alignment_heads": [[1, 0]],
    }
    (tmp_path / "generation_config.json").write_text(json.dumps(facts))
    return tmp_path


def load(folder: Path, **changes: Any) -> WhisperBackend:
    given: dict[str, Any] = {
        "device": "cpu",
        "evict": "both",
        "evict_options": {"output_window": "12"},
        "options": WhisperOptions("en", "transcribe", 2),
    }
    return load_whisper(folder, IDENTITY, **(given | changes))


def test_load_when_folder_is_complete_then_backend_transcribes(folder: Path) -> None:
    backend = load(folder)
    assert backend.identity == IDENTITY
    span = SampleSpan(0, 32_000)
    chunk = Chunk(0, span, (Window(span, (span,), (span,)),))
    found = recognise(backend, chirp(0), [chunk])
    assert found.chunks[0].policy == "both"
    assert found.chunks[0].kv.steps > 0


def test_load_when_weights_are_missing_then_model_error_in_one_line(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="cannot load as Whisper: ") as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_load_when_weights_are_damaged_then_model_error(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ModelError, match="cannot load as Whisper: "):
        load(folder)


def test_load_when_call_is_wrong_then_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError, match="unknown policy"):
        load(folder, evict="all")
    with pytest.raises(UsageError, match="--language fr"):
        load(folder, options=WhisperOptions("fr", "transcribe", 2))
