"""Folders of SpeechLLMs, whole and damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from murmur_cli.asr.speech_llm.backend import SpeechLlmBackend
from murmur_cli.asr.speech_llm.families.vibevoice import VibeVoice
from murmur_cli.asr.speech_llm.loading import load_speech_llm
from murmur_cli.asr.speech_llm.session import SpeechLlmOptions
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.settings import Precision
from murmur_cli.types import ModelIdentity

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

IDENTITY = ModelIdentity("tiny", "tests", "0" * 64, "MIT")


def load(folder: Path, **fields: Any) -> SpeechLlmBackend:
    options = {"language": None, "task": "transcribe", "context": "", "slots": 2}
    known: dict[str, Any] = {
        "device": "cpu",
        "evict": "none",
        "evict_options": {},
        "options": SpeechLlmOptions(**options, max_audio_s=4.0),  # type: ignore[arg-type]
    }
    return load_speech_llm(folder, "vibevoice_asr", IDENTITY, **(known | fields))


@pytest.mark.parametrize(
    ("fields", "precision"),
    [
        ({}, "bfloat16"),
        ({"precision": Precision.FAST}, "bfloat16"),
        ({"precision": Precision.FLOAT32}, "float32"),
    ],
)
def test_folder_when_whole_then_a_backend_in_the_precision_asked_for(
    vibevoice_folder: Path, fields: dict[str, Any], precision: str
) -> None:
    backend = load(vibevoice_folder, **fields)
    assert (backend.precision, backend.identity) == (precision, IDENTITY)
    assert backend.names_speakers
    assert backend.packing is None


@pytest.fixture
def folder(vibevoice_folder: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(vibevoice_folder, tmp_path / "model"))


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def of_another_kind(path: Path) -> None:
    path.write_text("[]", encoding="utf-8")


def without_keys(path: Path) -> None:
    path.write_text("{}", encoding="utf-8")


def with_text(**values: Any) -> Callable[[Path], None]:
    """A config.json with other numbers of its text model."""

    def change(path: Path) -> None:
        config = json.loads(path.read_text(encoding="utf-8"))
        config["text_config"].update(values)
        path.write_text(json.dumps(config), encoding="utf-8")

    return change


def of_another_shape(path: Path) -> None:
    weights = load_file(path)
    name = next(name for name, weight in weights.items() if weight.dim() == 2)
    save_file({**weights, name: torch.zeros(3, 5)}, path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    ("file", "damage"),
    [
        ("processor_config.json", Path.unlink),
        ("processor_config.json", emptied),
        ("processor_config.json", cut_in_half),
        ("processor_config.json", of_another_kind),
        ("processor_config.json", without_keys),
        ("chat_template.jinja", Path.unlink),
        ("chat_template.jinja", emptied),
        ("chat_template.jinja", cut_in_half),
        ("tokenizer.json", emptied),
        ("tokenizer.json", cut_in_half),
        ("tokenizer.json", of_another_kind),
        ("tokenizer.json", without_keys),
        ("tokenizer_config.json", cut_in_half),
        ("tokenizer_config.json", of_another_kind),
        ("model.safetensors", emptied),
        ("model.safetensors", cut_in_half),
        ("generation_config.json", of_another_kind),
        ("config.json", cut_in_half),
        ("config.json", with_text(num_hidden_layers="two")),
        ("config.json", with_text(num_attention_heads=0)),
        ("config.json", with_text(hidden_size=48)),
        ("config.json", with_text(vocab_size=50)),
        ("config.json", with_text(hidden_act="wobble")),
        ("config.json", with_text(dtype="float7")),
        ("config.json", with_text(rope_parameters=["linear", 2.0])),
        ("config.json", with_text(num_key_value_heads="x")),
        ("config.json", with_text(layer_types={"a": 1})),
        ("config.json", with_text(eos_token_id={"a": "long" * 99})),
        ("model.safetensors", of_another_shape),
    ],
)
def test_folder_when_damaged_then_one_plain_line(
    folder: Path, file: str, damage: Callable[[Path], None]
) -> None:
    damage(folder / file)
    with pytest.raises(ModelError) as failure:
        load(folder)
    message = str(failure.value)
    assert message.startswith(f"model folder {folder}: cannot load as VibeVoice-ASR: ")
    assert "\n" not in message
    assert "http" not in message
    assert len(message) < len(str(folder)) * 2 + 250


def test_model_when_nothing_can_be_decoded_with_it_then_one_plain_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VibeVoice, "forbidden_tokens", (None,))
        with pytest.raises(ModelError, match="its token of audio None is none of"):
            load(folder)
        patch.setattr(VibeVoice, "forbidden_tokens", (-5,))
        with pytest.raises(ModelError, match="its token of audio -5 is none of"):
            load(folder)
        patch.setattr(VibeVoice, "forbidden_tokens", ())
        patch.setattr(VibeVoice, "end_tokens", frozenset({"x", 999_999}))
        with pytest.raises(ModelError, match="it has no token that ends an answer"):
            load(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VibeVoice, "encode", lambda self, features: torch.zeros(9, 7))
        with pytest.raises(ModelError, match=r"a second of audio is \(9, 7\), where \(8, 32\) is"):
            load(folder)
        patch.setattr(VibeVoice, "encode", lambda self, features: torch.zeros(2) @ torch.zeros(3))
        with pytest.raises(ModelError, match="cannot load as VibeVoice-ASR: "):
            load(folder)
    whole = VibeVoice.load.__func__  # type: ignore[attr-defined]

    def without_layers(cls: type[VibeVoice], path: Path, **options: Any) -> VibeVoice:
        family: VibeVoice = whole(cls, path, **options)
        family.text_model.layers = torch.nn.ModuleList()
        return family

    monkeypatch.setattr(VibeVoice, "load", classmethod(without_layers))
    with pytest.raises(ModelError, match="its text model has no layers"):
        load(folder)


def test_positions_when_too_few_for_the_chunk_then_usage_error(folder: Path) -> None:
    with_text(max_position_embeddings=40)(folder / "config.json")
    with pytest.raises(UsageError, match="--chunk 4: 31 speech entries and the prompt are more"):
        load(folder)


def test_package_when_missing_then_its_name(
    vibevoice_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise ModuleNotFoundError("No module named 'mistral_common'")

    monkeypatch.setattr(VibeVoice, "load", refuse)
    with pytest.raises(ModelError, match=r"VibeVoice-ASR needs a package.*mistral_common"):
        load(vibevoice_folder)


@pytest.mark.parametrize(
    "fields",
    [
        {"options": SpeechLlmOptions("en", "transcribe", "", 2, 4.0)},
        {"options": SpeechLlmOptions(None, "translate", "", 2, 4.0)},
        {"options": SpeechLlmOptions(None, "transcribe", "", 2, 4000.0)},
        {"evict": "nonsense"},
        {"evict": "output", "evict_options": {"colour": "red"}},
    ],
)
def test_call_when_wrong_then_usage_error_before_any_weights(
    fields: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(UsageError):
        load(tmp_path, **fields)
