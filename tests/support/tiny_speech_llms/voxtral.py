"""A tiny Voxtral."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.voxtral import Voxtral
from support.tiny_speech_llms.tiny_family import TEXT_CONFIG, TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, tiny_tokenizer

MARKS = ("[AUDIO]", "[BEGIN_AUDIO]", "[/INST]", "[INST]", "[TRANSCRIBE]")


def tiny_voxtral() -> TinyFamily:
    """Pieces of 20 frames (3,200 samples), of which 5 speech entries come; Llama."""
    from transformers import VoxtralConfig, VoxtralForConditionalGeneration, WhisperFeatureExtractor

    torch.manual_seed(5)
    model = VoxtralForConditionalGeneration(
        VoxtralConfig(
            audio_config={
                "model_type": "voxtral_encoder",
                "num_mel_bins": 16,
                "hidden_size": 8,
                "intermediate_size": 16,
                "num_hidden_layers": 1,
                "num_attention_heads": 2,
                "max_source_positions": 10,
            },
            text_config={"model_type": "llama", **TEXT_CONFIG, "rope_theta": 1e4},
            audio_token_id=AUDIO,
        )
    )
    extractor = WhisperFeatureExtractor(feature_size=16, chunk_length=2)

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        return features

    family = Voxtral(strengthened(model), tiny_tokenizer(MARKS), extractor)
    pieces = ((0, 3_000), (10_000, 13_200), (20_000, 26_000), (30_000, 65_123))
    return TinyFamily(family, audio_inputs, pieces)
