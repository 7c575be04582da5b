"""The file of 'murmur enroll': names and what their voices are like. See docs/speakers.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from murmur_cli.audio.path_text import path_text
from murmur_cli.errors import UsageError
from murmur_cli.speaker_name import clean_name
from murmur_cli.types import Embedding, KnownVoice, KnownVoices, ModelIdentity, VoiceClip
from murmur_cli.writers import json_layout

VERSION = "1.0"
DECIMALS = 6
MAX_BYTES = 1 << 28
"""A voice takes 2 kB a clip; a file beyond this is something else."""


def render_voices(known: KnownVoices) -> str:
    """The file as strict JSON; equal voices give equal bytes."""
    return json_layout.dump(
        {
            "murmur_voices": VERSION,
            "model": {
                "name": known.model.name,
                "source": known.model.source,
                "sha256": known.model.sha256,
                "licence": known.model.licence,
            },
            "voices": [_voice(voice) for voice in known.voices],
        }
    )


def read_voices(path: Path) -> KnownVoices:
    """The voices of a file.

    Raises:
        UsageError: it cannot be read, or is none of ours, or damaged.
    """
    name = path_text(path)
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{name}: not a file of 'murmur enroll' (it is too large)")
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{name}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise UsageError(
            f"{name}: not a file of 'murmur enroll'; for a clip write NAME={name}"
        ) from None
    if not isinstance(document, dict) or "murmur_voices" not in document:
        raise UsageError(f"{name}: not a file of 'murmur enroll'")
    version = document["murmur_voices"]
    if not str(version).startswith("1."):
        raise UsageError(f"{name}: version {version} is not known; this program reads 1.x")
    try:
        known = _known(document, name)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError(f"{name}: damaged file of 'murmur enroll' ({error})") from None
    return known


def _voice(voice: KnownVoice) -> dict[str, Any]:
    return {
        "name": voice.name,
        "clean_s": round(voice.clean_s, 3),
        "clips": [
            {
                "file": clip.file,
                "sha256": clip.sha256,
                "clean_s": round(clip.clean_s, 3),
                "embedding": [round(float(value), DECIMALS) for value in clip.embedding],
            }
            for clip in voice.clips
        ],
    }


def _known(document: dict[str, Any], file: str) -> KnownVoices:
    model = document["model"]
    identity = ModelIdentity(*(str(model[key]) for key in ("name", "source", "sha256", "licence")))
    if not re.fullmatch(r"[0-9a-f]{64}", identity.sha256):
        raise ValueError("the hash of the model is none")
    voices = tuple(
        KnownVoice(clean_name(str(row["name"]), file), tuple(map(_clip, row["clips"])))
        for row in document["voices"]
    )
    if any(not voice.clips for voice in voices):
        raise ValueError("a voice without clips")
    if len({clip.embedding.size for voice in voices for clip in voice.clips}) > 1:
        raise ValueError("embeddings of different sizes")
    return KnownVoices(identity, voices)


def _clip(row: dict[str, Any]) -> VoiceClip:
    clean_s = float(row["clean_s"])
    vector: Embedding = np.array(row["embedding"], dtype=np.float32)
    norm = float(np.linalg.norm(vector))
    if vector.ndim != 1 or not 0.9 < norm < 1.1 or not 0.0 < clean_s < 1e6:
        raise ValueError("an embedding that is no unit vector, or no clear speech")
    return VoiceClip(str(row["file"]), str(row["sha256"]), clean_s, vector / np.float32(norm))
