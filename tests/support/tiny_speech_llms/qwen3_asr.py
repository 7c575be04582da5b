"""A tiny Qwen3-ASR."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.qwen3_asr import Qwen3Asr
from support.tiny_speech_llms.tiny_family import TEXT_CONFIG, TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, END, PAD, tiny_tokenizer

TIMESTAMP = 262


def tiny_qwen3_asr() -> TinyFamily:
    """Blocks of one second; attention of the encoder within two of them."""
    from transformers import (
        Qwen3ASRConfig,
        Qwen3ASRFeatureExtractor,
        Qwen3ASRForConditionalGeneration,
        Qwen3ASRProcessor,
        Qwen3Config,
    )

    torch.manual_seed(0)
    model = Qwen3ASRForConditionalGeneration(
        Qwen3ASRConfig(
            audio_config={
                "model_type": "qwen3_asr_encoder",
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
            text_config=Qwen3Config(**TEXT_CONFIG, tie_word_embeddings=False).to_dict(),
            audio_token_id=AUDIO,
            timestamp_token_id=TIMESTAMP,
            pad_token_id=PAD,
            eos_token_id=END,
            tie_word_embeddings=False,
        )
    )
    tokenizer = tiny_tokenizer(
        ("<|audio_pad|>", "<|audio_start|>", "<|audio_end|>", "<timestamp>", "<|im_end|>"),
        roles={
            "audio_token": "<|audio_pad|>",
            "audio_bos_token": "<|audio_start|>",
            "audio_eos_token": "<|audio_end|>",
        },
    )
    processor = Qwen3ASRProcessor(
        Qwen3ASRFeatureExtractor(feature_size=16), tokenizer, chat_template=CHAT_TEMPLATE
    )

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        return features

    family = Qwen3Asr(strengthened(model), tokenizer, processor)
    pieces = ((0, 6_000), (10_000, 27_000), (30_000, 46_000), (50_000, 90_123))
    return TinyFamily(family, audio_inputs, pieces)


CHAT_TEMPLATE = (
    "{% set system = namespace(text='') %}"
    "{% for message in messages if message['role'] == 'system' %}"
    "{% for part in message['content'] %}{% set system.text = part['text'] %}{% endfor %}"
    "{% endfor %}system\n{{ system.text }}<|im_end|>\n"
    "{% for message in messages if message['role'] != 'system' %}{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}<|audio_start|><|audio_pad|><|audio_end|>"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
)
"""Of the form of the model's own: system, user with the audio, then the answer."""
