"""A tiny tekken.json, as Mistral's folders hold it: special tokens, then bytes and some merges."""

from __future__ import annotations

import base64
import json
from pathlib import Path

SPECIAL = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    *("[TOOL_CONTENT]", "<SPECIAL_20>", "<SPECIAL_21>", "<SPECIAL_22>", "<SPECIAL_23>"),
    *("[AUDIO]", "[BEGIN_AUDIO]", "[TRANSCRIBE]"),
)
MERGED = ("la", "ng", "lang", "en", "fr", " t")
"""Later ones may join earlier ones; the rank is the order."""


def write_tekken(folder: Path, special: tuple[str, ...] = SPECIAL) -> None:
    """Write the file, in the form of Voxtral's: version 7, with an audio part."""
    pieces = [bytes([value]) for value in range(256)] + [text.encode() for text in MERGED]
    document = {
        "config": {
            "pattern": r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+|\s+",
            "num_vocab_tokens": len(pieces),
            "default_vocab_size": len(pieces) + len(special),
            "default_num_special_tokens": len(special),
            "version": "v7",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(piece).decode(), "token_str": None}
            for rank, piece in enumerate(pieces)
        ],
        "special_tokens": [
            {"rank": rank, "token_str": text, "is_control": True}
            for rank, text in enumerate(special)
        ],
        "audio": {
            "sampling_rate": 16_000,
            "frame_rate": 12.5,
            "audio_encoding_config": {"num_mel_bins": 128, "hop_length": 160, "window_size": 400},
            "chunk_length_s": 30.0,
        },
    }
    (folder / "tekken.json").write_text(json.dumps(document), encoding="utf-8")
