"""Whisper from any folder that transformers wrote: one of the user's, or one of the hub's cache."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from murmur_cli.errors import ModelError
from murmur_cli.models.checksum import sha256_of_file
from murmur_cli.models.embedded_whisper import WhisperFolder
from murmur_cli.types import ModelIdentity

NEEDED_FILES = ("config.json", "generation_config.json", "tokenizer.json")


def check_whisper_folder(name: str, folder: Path) -> None:
    """Make sure that `folder` holds a Whisper that can be loaded; weights are not read.

    Raises:
        ModelError: a file is missing or unreadable, or the model is of another type.
    """
    if not (folder / "config.json").is_file():
        raise ModelError(f"{name}: {folder} has no config.json, so it is no model folder")
    try:
        model_type = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{name}: {folder / 'config.json'} cannot be read: {error}") from error
    if model_type != "whisper":
        raise ModelError(
            f"{name}: models of type {model_type!r} are not supported in this version; "
            "supported is any transformers Whisper (see: murmur models)"
        )
    missing = [file for file in NEEDED_FILES if not (folder / file).is_file()]
    if missing:
        raise ModelError(
            f"{name}: {folder} lacks {', '.join(missing)}; save the model and its processor with "
            "save_pretrained of transformers 5, or fetch it anew: murmur models pull"
        )
    if not weight_files(folder):
        raise ModelError(
            f"{name}: {folder} has no *.safetensors; save it with save_pretrained, or fetch it "
            "anew: murmur models pull"
        )


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files that make up the weights, by name: model.safetensors, or shards."""
    single = folder / "model.safetensors"
    return (single,) if single.is_file() else tuple(sorted(folder.glob("model-*.safetensors")))


def local_whisper(name: str, folder: Path) -> WhisperFolder:
    """A checked folder with the identity of its weights.

    One file: its SHA-256. Shards: the SHA-256 of their digests (hex, one a line, by name).

    Raises:
        ModelError: as `check_whisper_folder`, or a weight file cannot be read.
    """
    check_whisper_folder(name, folder)
    try:
        digests = [sha256_of_file(path) for path in weight_files(folder)]
    except OSError as error:
        raise ModelError(f"{name}: weights in {folder} cannot be read: {error}") from error
    if len(digests) > 1:
        digests = [hashlib.sha256("\n".join(digests).encode()).hexdigest()]
    return WhisperFolder(folder, ModelIdentity(name, str(folder), digests[0], "as its source says"))
