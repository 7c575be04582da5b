"""The packaged Whisper as peers read it: the same weights, written once into the cache.

faster-whisper reads CTranslate2's folder, which the packages hold in pieces; openai-whisper
reads its own names of the same tensors.
"""

from __future__ import annotations

import re
import shutil
import uuid
from pathlib import Path

from murmur_cli.errors import ModelError
from murmur_cli.models.cache_folder import cache_folder
from murmur_cli.models.checksum import sha256_of_bytes_in
from murmur_cli.models.embedded_whisper import (
    WHISPER_SOURCES,
    WhisperSource,
    embedded_whisper,
)
from murmur_cli.models.weights import EMBEDDED_INSTALL, package_folder

OPENAI_NAMES = (
    (r"^model\.", ""),
    (r"\.layers\.", ".blocks."),
    (r"self_attn_layer_norm", "attn_ln"),
    (r"encoder_attn_layer_norm", "cross_attn_ln"),
    (r"final_layer_norm", "mlp_ln"),
    (r"self_attn", "attn"),
    (r"encoder_attn", "cross_attn"),
    (r"q_proj", "query"),
    (r"k_proj", "key"),
    (r"v_proj", "value"),
    (r"out_proj", "out"),
    (r"fc1", "mlp.0"),
    (r"fc2", "mlp.2"),
    (r"embed_tokens", "token_embedding"),
    (r"embed_positions\.weight", "positional_embedding"),
    (r"^encoder\.layer_norm", "encoder.ln_post"),
    (r"^decoder\.layer_norm", "decoder.ln"),
)
"""Names of transformers → names of openai-whisper, in order."""


def ctranslate2_folder(name: str) -> Path:
    """Folder with model.bin, config.json, tokenizer.json and the vocabulary, for faster-whisper.

    Raises:
        ModelError: `name` is no packaged model, its packages are missing or damaged, or the
            cache cannot be written.
    """
    source = _source(name)
    folder = cache_folder() / "bench" / f"{name}-{source.sha256[:16]}-ctranslate2"
    if folder.exists():
        return folder
    workspace = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.tmp")
    try:
        workspace.mkdir(parents=True)
        with (workspace / "model.bin").open("wb") as joined:
            for part in map(_packaged, source.parts):
                with part.open("rb") as piece:
                    shutil.copyfileobj(piece, joined)
        facts = _packaged(source.facts)
        shutil.copyfile(facts, workspace / "config.json")
        shutil.copyfile(_packaged(source.tokenizer), workspace / "tokenizer.json")
        for vocabulary in facts.parent.glob("vocabulary.*"):
            shutil.copyfile(vocabulary, workspace / vocabulary.name)
        if sha256_of_bytes_in((workspace / "model.bin",)) != source.sha256:
            raise ModelError(f"{name}: its packaged model.bin is damaged; run: {EMBEDDED_INSTALL}")
        if not folder.exists():
            workspace.rename(folder)
    except OSError as error:
        raise ModelError(f"{name}: cannot write {folder}: {error.strerror}") from error
    finally:
        shutil.rmtree(workspace, ignore_errors=True)
    return folder


def openai_checkpoint(name: str) -> Path:
    """File with dimensions and tensors as openai-whisper's `load_model` reads them.

    Raises:
        ModelError: as `ctranslate2_folder`.
    """
    path = cache_folder() / "bench" / f"{name}-{_source(name).sha256[:16]}-openai.pt"
    if path.exists():
        return path
    import torch
    from safetensors.torch import load_file
    from transformers import WhisperConfig

    converted = embedded_whisper(name).path
    config = WhisperConfig.from_pretrained(converted)
    tensors = load_file(converted / "model.safetensors")
    dimensions = {
        "n_mels": config.num_mel_bins,
        "n_audio_ctx": config.max_source_positions,
        "n_audio_state": config.d_model,
        "n_audio_head": config.encoder_attention_heads,
        "n_audio_layer": config.encoder_layers,
        "n_vocab": config.vocab_size,
        "n_text_ctx": config.max_target_positions,
        "n_text_state": config.d_model,
        "n_text_head": config.decoder_attention_heads,
        "n_text_layer": config.decoder_layers,
    }
    state = {openai_name(key): tensor for key, tensor in tensors.items() if "proj_out" not in key}
    workspace = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save({"dims": dimensions, "model_state_dict": state}, workspace)
        workspace.rename(path)
    except OSError as error:
        raise ModelError(f"{name}: cannot write {path}: {error.strerror}") from error
    finally:
        workspace.unlink(missing_ok=True)
    return path


def openai_name(name: str) -> str:
    """Name of a tensor in openai-whisper."""
    for pattern, replacement in OPENAI_NAMES:
        name = re.sub(pattern, replacement, name)
    return name


def _source(name: str) -> WhisperSource:
    if name not in WHISPER_SOURCES:
        raise ModelError(
            f"{name}: peers get packaged weights only; known: {', '.join(WHISPER_SOURCES)}"
        )
    source = next((source for source in WHISPER_SOURCES[name] if source.is_installed), None)
    if source is None:
        raise ModelError(f"{name}: its packages are not installed; run: {EMBEDDED_INSTALL}")
    return source


def _packaged(place: tuple[str, str]) -> Path:
    module, inner_path = place
    package = package_folder(module)
    if package is None or not (package / inner_path).is_file():
        raise ModelError(f"package {module} lacks {inner_path}; run: {EMBEDDED_INSTALL}")
    return package / inner_path
