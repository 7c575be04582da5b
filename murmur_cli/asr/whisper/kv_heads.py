"""How many heads a Whisper's decoder has, before it is loaded."""

from __future__ import annotations

import json
from pathlib import Path

from murmur_cli.errors import ModelError


def whisper_kv_heads(folder: Path) -> tuple[int, ...]:
    """`WhisperBackend.kv_heads` of the model in a folder, from its configuration alone.

    Raises:
        ModelError: the configuration cannot be read, or does not say it.
    """
    file = folder / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
        layers, heads = config["decoder_layers"], config["decoder_attention_heads"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(
            f"{file}: does not say how many decoder layers and heads the model has "
            f"({type(error).__name__}: {error})"
        ) from error
    if not all(isinstance(number, int) and number > 0 for number in (layers, heads)):
        raise ModelError(f"{file}: has {layers} decoder layers of {heads} heads")
    return (int(heads),) * int(layers)
