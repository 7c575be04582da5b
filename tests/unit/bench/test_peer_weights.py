from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from murmur_cli.bench.peer_weights import ctranslate2_folder, openai_checkpoint, openai_name
from murmur_cli.errors import ModelError
from murmur_cli.models.embedded_whisper import WHISPER_SOURCES


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("model.encoder.conv1.weight", "encoder.conv1.weight"),
        ("model.encoder.embed_positions.weight", "encoder.positional_embedding"),
        ("model.encoder.layers.0.self_attn.q_proj.bias", "encoder.blocks.0.attn.query.bias"),
        ("model.encoder.layers.0.self_attn_layer_norm.weight", "encoder.blocks.0.attn_ln.weight"),
        ("model.encoder.layer_norm.bias", "encoder.ln_post.bias"),
        ("model.decoder.embed_tokens.weight", "decoder.token_embedding.weight"),
        (
            "model.decoder.layers.5.encoder_attn.out_proj.weight",
            "decoder.blocks.5.cross_attn.out.weight",
        ),
        (
            "model.decoder.layers.5.encoder_attn_layer_norm.weight",
            "decoder.blocks.5.cross_attn_ln.weight",
        ),
        ("model.decoder.layers.5.fc1.weight", "decoder.blocks.5.mlp.0.weight"),
        ("model.decoder.layers.5.final_layer_norm.bias", "decoder.blocks.5.mlp_ln.bias"),
        ("model.decoder.layer_norm.weight", "decoder.ln.weight"),
    ],
)
def test_openai_name_when_given_transformers_name_then_that_of_the_original(
    name: str, expected: str
) -> None:
    assert openai_name(name) == expected


def test_weights_when_the_model_is_not_packaged_then_model_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path))
    for make in (ctranslate2_folder, openai_checkpoint):
        with pytest.raises(ModelError, match="packaged weights only; known: whisper-base"):
            make("whisper-huge")


@pytest.mark.embedded
def test_ctranslate2_folder_when_made_then_the_joined_file_is_the_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = next((one for one in WHISPER_SOURCES["whisper-base"] if one.is_installed), None)
    if source is None:
        pytest.skip("no package of whisper-base is installed")
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path))
    folder = ctranslate2_folder("whisper-base")
    assert hashlib.sha256((folder / "model.bin").read_bytes()).hexdigest() == source.sha256
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "tokenizer.json"} <= names
    assert any(name.startswith("vocabulary.") for name in names)
    assert ctranslate2_folder("whisper-base") == folder
