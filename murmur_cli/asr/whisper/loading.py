"""A Whisper folder -> a backend that is ready to transcribe."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import SafetensorError
from transformers import WhisperForConditionalGeneration
from transformers.utils import logging as transformers_logging

from murmur_cli.asr.whisper.backend import WhisperBackend
from murmur_cli.asr.whisper.half_weight_linear import half_weights, use_half_weights
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.asr.whisper.tokens import load_tokens
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import ModelError
from murmur_cli.types import ModelIdentity


def load_whisper(
    folder: Path,
    identity: ModelIdentity,
    *,
    device: str,
    evict: str,
    evict_options: dict[str, str],
    options: WhisperOptions,
) -> WhisperBackend:
    """Load a Whisper model of transformers from a local folder.

    On CUDA it computes in float16, on a CPU in float32.

    Raises:
        ModelError: the folder does not hold a Whisper model that transformers can read.
        UsageError: the policy or its options are wrong, or the model lacks the language or task.
    """
    policy = build_policy(evict, evict_options, WHISPER_RATES)
    tokens = load_tokens(folder)
    dtype = torch.float32 if device == "cpu" else torch.float16
    # The console is ours: a bar of the library's own would break into it.
    transformers_logging.disable_progress_bar()
    try:
        model = WhisperForConditionalGeneration.from_pretrained(
            folder, dtype=dtype, local_files_only=True, attn_implementation="sdpa"
        )
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(f"model folder {folder}: cannot load as Whisper: {line}") from None
    model = model.eval().to(device)
    if device == "cpu":
        use_half_weights(model.model.decoder)
        model.proj_out = half_weights(model.proj_out)
    return WhisperBackend(model, tokens, identity, policy, options)
