"""A tiny thinker of Qwen3-Omni."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.qwen3_omni import Qwen3Omni
from support.tiny_speech_llms.qwen2_5_omni import IMAGE, OMNI_TEXT, VIDEO, VISION_BEGIN
from support.tiny_speech_llms.tiny_family import TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, AUDIO_BEGIN, tiny_tokenizer

MARKS = ("<|audio_pad|>", "<|audio_start|>", "<|audio_end|>", "<|im_start|>", "<|im_end|>")


def tiny_qwen3_omni() -> TinyFamily:
    """Four experts of which two speak; attention of the encoder within two seconds."""
    from transformers import (
        Qwen3OmniMoeThinkerConfig,
        Qwen3OmniMoeThinkerForConditionalGeneration,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    model = Qwen3OmniMoeThinkerForConditionalGeneration(
        Qwen3OmniMoeThinkerConfig(
            audio_config={
                "num_mel_bins": 16,
                "encoder_layers": 1,
                "encoder_attention_heads": 2,
                "encoder_ffn_dim": 16,
                "d_model": 16,
                "n_window": 50,
                "n_window_infer": 200,
                "output_dim": 32,
                "downsample_hidden_size": 4,
            },
            vision_config={
                "depth": 1,
                "hidden_size": 16,
                "intermediate_size": 16,
                "num_heads": 2,
                "out_hidden_size": 32,
                "num_position_embeddings": 16,
                "deepstack_visual_indexes": [0],
            },
            text_config={
                **OMNI_TEXT,
                "num_experts": 4,
                "num_experts_per_tok": 2,
                "moe_intermediate_size": 16,
            },
            audio_token_id=AUDIO,
            audio_start_token_id=AUDIO_BEGIN,
            image_token_id=IMAGE,
            video_token_id=VIDEO,
            vision_start_token_id=VISION_BEGIN,
        )
    )
    extractor = WhisperFeatureExtractor(feature_size=16, chunk_length=2)

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        return features

    family = Qwen3Omni(strengthened(model), tiny_tokenizer(MARKS), extractor)
    pieces = ((0, 6_000), (10_000, 27_000), (30_000, 46_000), (50_000, 90_123))
    return TinyFamily(family, audio_inputs, pieces)
