"""A folder as transformers writes it -> a backend that transcribes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from murmur_cli.asr.whisper.backend import WhisperBackend
from murmur_cli.asr.whisper.encoder_arithmetic import EncoderArithmetic
from murmur_cli.asr.whisper.loading import load_whisper
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.engine.attention import attention_path
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.settings import Precision
from murmur_cli.types import Chunk, ModelIdentity, SampleSpan, Window
from support.recognise import recognise
from support.tiny_folder import write_tiny_folder
from support.tiny_whisper import chirp

IDENTITY = ModelIdentity("tiny", "random", "0" * 64, "none")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_tiny_folder(tmp_path, half_weights=True)


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


def _tokens_and_words(backend: WhisperBackend) -> tuple[int, list[str]]:
    span = SampleSpan(0, 32_000)
    chunk = Chunk(0, span, (Window(span, (span,), (span,)),))
    (found,) = recognise(backend, chirp(0), [chunk]).chunks
    return found.tokens, [segment.text for segment in found.segments]


def test_load_when_precision_is_float32_then_nothing_is_held_in_half(folder: Path) -> None:
    assert load(folder, precision=Precision.FLOAT32).precision == "float32"


def test_load_when_the_kernel_reads_half_then_the_speech_cache_is_half(folder: Path) -> None:
    backend = load(folder)
    if attention_path(torch.device("cpu"), torch.float16, head_dim=16) == "torch":
        pytest.skip("this processor has no compiled attention")
    assert "float16 speech cache" in backend.precision
    full = load(folder, precision=Precision.FLOAT32).decoder.entry_bytes
    assert backend.decoder.entry_bytes.speech * 2 == full.speech
    assert backend.decoder.entry_bytes.output == full.output


@pytest.mark.parametrize("arithmetic", list(EncoderArithmetic))
def test_load_when_encoder_has_another_arithmetic_then_it_is_told_and_transcribes(
    folder: Path, arithmetic: EncoderArithmetic, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = _tokens_and_words(load(folder, precision=Precision.FLOAT32))
    monkeypatch.setattr(
        "murmur_cli.asr.whisper.loading.choose_arithmetic", lambda precision, layer: arithmetic
    )
    backend = load(folder, precision=Precision.FAST)
    found = _tokens_and_words(backend)
    if arithmetic is EncoderArithmetic.FLOAT32:
        assert "encoder" not in backend.precision
    else:
        assert f"{arithmetic} encoder" in backend.precision
    if arithmetic is EncoderArithmetic.BFLOAT16:
        assert found[0] > 0
    else:
        assert found == expected


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


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("decoder_layers", "two", "Field 'decoder_layers' expected int, got str (value: 'two')"),
        ("bos_token_id", "x", "field 'bos_token_id' of its configuration is 'x', of a wrong type"),
        ("dropout", [1], "field 'dropout' of its configuration is [1], of a wrong type"),
        ("activation_function", "wobble", "KeyError 'wobble'"),
        ("encoder_attention_heads", 0, "ZeroDivisionError "),
        ("d_model", -1, "negative dimension"),
    ],
)
def test_load_when_the_configuration_is_damaged_then_one_plain_line(
    key: str, value: object, reason: str, folder: Path
) -> None:
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, key: value}), encoding="utf-8")
    with pytest.raises(ModelError) as refused:
        load(folder)
    message = str(refused.value)
    assert message.startswith(f"model folder {folder}: cannot load as Whisper: ")
    assert reason in message
    assert "\n" not in message
    assert len(message) < len(str(folder)) + 200


def test_load_when_call_is_wrong_then_usage_error(folder: Path) -> None:
    with pytest.raises(UsageError, match="unknown policy"):
        load(folder, evict="all")
    with pytest.raises(UsageError, match="--language fr"):
        load(folder, options=WhisperOptions("fr", "transcribe", 2))
