"""A tiny Gemma 4 with audio."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.gemma4 import Gemma4
from support.tiny_speech_llms.tiny_family import TEXT_CONFIG, TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import (
    AUDIO,
    AUDIO_BEGIN,
    AUDIO_END,
    tiny_tokenizer,
)

SLIDING, FULL = "sliding_attention", "full_attention"


def tiny_gemma4() -> TinyFamily:
    """Sliding and full layers with KV heads and head sizes of their own; the last two share."""
    return gemma4_of([SLIDING, FULL, SLIDING, FULL], shared=2, window=16)


def gemma4_of(layers: list[str], *, shared: int, window: int) -> TinyFamily:
    """layers: type of each; shared: how many of the last keep no entries; window: in entries."""
    from transformers import (
        Gemma4AudioConfig,
        Gemma4AudioFeatureExtractor,
        Gemma4Config,
        Gemma4ForConditionalGeneration,
        Gemma4TextConfig,
    )

    text = Gemma4TextConfig(
        **{**TEXT_CONFIG, "num_hidden_layers": len(layers)},
        global_head_dim=16,
        layer_types=layers,
        num_kv_shared_layers=shared,
        sliding_window=window,
        hidden_size_per_layer_input=4,
        vocab_size_per_layer_input=TEXT_CONFIG["vocab_size"],
        final_logit_softcapping=30.0,
        tie_word_embeddings=False,
    )
    audio = Gemma4AudioConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        subsampling_conv_channels=[16, 4],
        output_proj_dims=16,
    )
    torch.manual_seed(0)
    model = Gemma4ForConditionalGeneration(
        Gemma4Config(
            text_config=text,
            vision_config=None,
            audio_config=audio,
            audio_token_id=AUDIO,
            boa_token_id=AUDIO_BEGIN,
            eoa_token_index=AUDIO_END,
            tie_word_embeddings=False,
        )
    )
    tokenizer = tiny_tokenizer(("<|audio|>", "<|audio>", "<audio|>", "<|channel>", "<channel|>"))
    tokenizer.chat_template = CHAT_TEMPLATE

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        return features

    family = Gemma4(strengthened(model), tokenizer, Gemma4AudioFeatureExtractor(feature_size=16))
    pieces = ((0, 3_000), (10_000, 18_000), (30_000, 40_001), (50_000, 66_123))
    return TinyFamily(family, audio_inputs, pieces)


CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|turn>{{ message['role'] }}\n"
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}<|audio|>{% else %}{{ part['text'] | trim }}{% endif %}"
    "{% endfor %}<turn|>\n{% endfor %}{% if add_generation_prompt %}<|turn>model\n{% endif %}"
)
"""Of the form of the model's own."""
