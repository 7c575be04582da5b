"""A model from any folder that transformers wrote: one of the user's, or of the hub's cache."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from murmur_cli.errors import ModelError
from murmur_cli.models.checksum import sha256_of_file
from murmur_cli.models.embedded_whisper import ModelFolder
from murmur_cli.models.rope_parameters import wrong_rope
from murmur_cli.types import ModelIdentity

WHISPER_TYPE = "whisper"

SPEECH_LLM_TYPES = {
    "vibevoice_asr": "VibeVoice-ASR",
    "voxtral": "Voxtral",
    "qwen2_5_omni": "Qwen2.5-Omni",
    "qwen3_omni_moe": "Qwen3-Omni",
    "gemma4": "Gemma 4",
    "qwen3_asr": "Qwen3-ASR",
    "granite_speech": "Granite Speech",
}
"""`model_type` of a SpeechLLM's config.json -> its name for people."""

NEEDED_FILES = {
    WHISPER_TYPE: ("config.json", "generation_config.json", "tokenizer.json"),
    "voxtral": ("config.json", "tekken.json"),
}
"""For the other types: config.json, and a tokenizer in one file or in two."""

THINKER = "thinker_config"
"""The part of a Qwen-Omni that hears and writes; its talker is never loaded."""

TWO_FILE_TOKENIZER = ("vocab.json", "merges.txt")


def model_type_of(name: str, folder: Path) -> str:
    """`model_type` of a folder's config.json, if it is one that Murmur runs.

    Raises:
        ModelError: there is no such file, it cannot be read, or the type is another.
    """
    if not (folder / "config.json").is_file():
        raise ModelError(f"{name}: {folder} has no config.json, so it is no model folder")
    try:
        model_type = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model_type"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{name}: {folder / 'config.json'} cannot be read: {error}") from error
    if model_type not in [WHISPER_TYPE, *SPEECH_LLM_TYPES]:
        known = ", ".join(["Whisper", *SPEECH_LLM_TYPES.values()])
        raise ModelError(
            f"{name}: models of type {model_type!r} are not supported in this version; "
            f"supported are {known} (see: murmur models)"
        )
    return str(model_type)


def _check_parts(name: str, folder: Path, model_type: str) -> None:
    """A config.json without its text model would be taken for that of the largest model."""
    file = folder / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    inner = config.get(THINKER, config)
    if not isinstance(inner, dict) or not isinstance(inner.get("text_config"), dict):
        raise ModelError(
            f"{name}: {file} does not describe the text model of a "
            f"{SPEECH_LLM_TYPES[model_type]}; fetch it anew: murmur models pull"
        )
    fault = wrong_rope(inner, f"{THINKER}." if THINKER in config else "")
    if fault is not None:
        raise ModelError(f"{name}: {file}: {fault}; fetch it anew: murmur models pull")


def check_model_folder(name: str, folder: Path) -> str:
    """Make sure that `folder` holds a model that can be loaded, weights unread; its type.

    Raises:
        ModelError: a file is missing or unreadable, or the model is of another type.
    """
    model_type = model_type_of(name, folder)
    needed = NEEDED_FILES.get(model_type, ("config.json", "tokenizer.json"))
    missing = [file for file in needed if not (folder / file).is_file()]
    has_two_files = all((folder / file).is_file() for file in TWO_FILE_TOKENIZER)
    if model_type not in NEEDED_FILES and has_two_files:
        missing = []
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
    if model_type in SPEECH_LLM_TYPES:
        _check_parts(name, folder, model_type)
    return model_type


def weight_files(folder: Path) -> tuple[Path, ...]:
    """The safetensors files that make up the weights, by name: model.safetensors, or shards."""
    single = folder / "model.safetensors"
    return (single,) if single.is_file() else tuple(sorted(folder.glob("model-*.safetensors")))


def local_model(name: str, folder: Path) -> ModelFolder:
    """A checked folder with the identity of its weights.

    One file: its SHA-256. Shards: the SHA-256 of their digests (hex, one a line, by name).

    Raises:
        ModelError: as `check_model_folder`, or a weight file cannot be read.
    """
    check_model_folder(name, folder)
    try:
        digests = [sha256_of_file(path) for path in weight_files(folder)]
    except OSError as error:
        raise ModelError(f"{name}: weights in {folder} cannot be read: {error}") from error
    if len(digests) > 1:
        digests = [hashlib.sha256("\n".join(digests).encode()).hexdigest()]
    return ModelFolder(folder, ModelIdentity(name, str(folder), digests[0], "as its source says"))
