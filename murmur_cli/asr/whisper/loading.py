"""A Whisper folder -> a backend that is ready to transcribe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import WhisperForConditionalGeneration
from transformers.utils import logging as transformers_logging

from murmur_cli.asr.library_error import reason_of
from murmur_cli.asr.whisper.backend import WhisperBackend
from murmur_cli.asr.whisper.decoder import WhisperDecoder
from murmur_cli.asr.whisper.encoder_arithmetic import (
    apply_arithmetic,
    choose_arithmetic,
    speech_projection,
)
from murmur_cli.asr.whisper.half_weight_linear import half_weights, use_half_weights
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.asr.whisper.tokens import WhisperTokens, load_tokens
from murmur_cli.engine.attention import attention_path
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import ModelError
from murmur_cli.settings import Precision
from murmur_cli.types import ModelIdentity


def load_whisper(
    folder: Path,
    identity: ModelIdentity,
    *,
    device: str,
    evict: str,
    evict_options: dict[str, str],
    options: WhisperOptions,
    precision: Precision = Precision.EXACT,
    kv_offload: bool = False,
) -> WhisperBackend:
    """Load a Whisper model of transformers from a local folder.

    On CUDA it computes in float16, unless the precision is float32. On a CPU the decoder
    computes in float32 from weights and a speech cache of half the size, and the encoder as
    `choose_arithmetic` finds best for the precision.

    Raises:
        ModelError: the folder does not hold a Whisper model that transformers can read.
        UsageError: the policy or its options are wrong, or the model lacks the language or task.
    """
    policy = build_policy(evict, evict_options, WHISPER_RATES)
    tokens = load_tokens(folder)
    on_cpu = device == "cpu"
    dtype = torch.float32 if on_cpu or precision is Precision.FLOAT32 else torch.float16
    # The console is ours: a bar of the library's own would break into it.
    transformers_logging.disable_progress_bar()
    try:
        model = WhisperForConditionalGeneration.from_pretrained(
            folder, dtype=dtype, local_files_only=True, attn_implementation="sdpa"
        )
    except Exception as error:
        # Libraries raise all sorts of errors over files that hold something else than they should.
        raise ModelError(
            f"model folder {folder}: cannot load as Whisper: {reason_of(error)}"
        ) from error
    model = model.eval().to(device)
    if on_cpu:
        decoder = _tuned_for_cpu(model, tokens, precision, kv_offload)
    else:
        decoder = WhisperDecoder(model, tokens, offloads=kv_offload)
    return WhisperBackend(decoder, tokens, identity, policy, options)


def _tuned_for_cpu(
    model: Any, tokens: WhisperTokens, precision: Precision, kv_offload: bool
) -> WhisperDecoder:
    """Replace, in place, what a CPU computes faster in another form within the precision."""
    encoder = model.model.encoder
    arithmetic = choose_arithmetic(precision, encoder.layers[0].fc1)
    apply_arithmetic(encoder, arithmetic)
    for layer in model.model.decoder.layers:
        # These see a whole window, like the encoder's own layers, not a few rows.
        for name in ("k_proj", "v_proj"):
            projection = getattr(layer.encoder_attn, name)
            setattr(layer.encoder_attn, name, speech_projection(projection, arithmetic))
    use_half_weights(model.model.decoder)
    model.proj_out = half_weights(model.proj_out)
    return WhisperDecoder(
        model,
        tokens,
        speech_dtype=_speech_dtype(model.config, precision),
        encoder_arithmetic=arithmetic,
        offloads=kv_offload,
    )


def _speech_dtype(config: Any, precision: Precision) -> torch.dtype:
    """float16 where the kernel reads it as it lies; torch's own operations would convert it."""
    head_dim = config.d_model // config.decoder_attention_heads
    half = attention_path(torch.device("cpu"), torch.float16, head_dim) == "compiled"
    return torch.float16 if half and precision is not Precision.FLOAT32 else torch.float32
