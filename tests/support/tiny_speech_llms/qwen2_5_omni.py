"""A tiny thinker of Qwen2.5-Omni."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.qwen2_5_omni import Qwen2_5Omni
from support.tiny_speech_llms.tiny_family import TEXT_CONFIG, TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import (
    AUDIO,
    AUDIO_BEGIN,
    AUDIO_END,
    VOCABULARY,
    tiny_tokenizer,
)

IMAGE, VIDEO, VISION_BEGIN = VOCABULARY, VOCABULARY + 1, VOCABULARY + 2
OMNI_TEXT: dict[str, Any] = {
    **TEXT_CONFIG,
    "vocab_size": VOCABULARY + 8,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 1, 1]},
}
MARKS = ("<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>", "<|im_start|>", "<|im_end|>")


def tiny_qwen2_5_omni() -> TinyFamily:
    """Blocks of 20 frames, of which 5 speech entries come."""
    from transformers import (
        Qwen2_5OmniThinkerConfig,
        Qwen2_5OmniThinkerForConditionalGeneration,
        WhisperFeatureExtractor,
    )

    torch.manual_seed(0)
    model = Qwen2_5OmniThinkerForConditionalGeneration(
        Qwen2_5OmniThinkerConfig(
            audio_config={
                "num_mel_bins": 16,
                "encoder_layers": 1,
                "encoder_attention_heads": 2,
                "encoder_ffn_dim": 16,
                "d_model": 16,
                "n_window": 10,
                "output_dim": 32,
            },
            vision_config={
                "depth": 1,
                "hidden_size": 16,
                "intermediate_size": 16,
                "num_heads": 2,
                "out_hidden_size": 32,
            },
            text_config=OMNI_TEXT,
            audio_token_index=AUDIO,
            audio_start_token_id=AUDIO_BEGIN,
            audio_end_token_id=AUDIO_END,
            image_token_index=IMAGE,
            video_token_index=VIDEO,
            vision_start_token_id=VISION_BEGIN,
        )
    )
    extractor = WhisperFeatureExtractor(feature_size=16, chunk_length=2)

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        return features

    family = Qwen2_5Omni(strengthened(model), tiny_tokenizer(MARKS), extractor)
    pieces = ((0, 3_000), (10_000, 12_900), (20_000, 23_200), (30_000, 40_123))
    return TinyFamily(family, audio_inputs, pieces)
