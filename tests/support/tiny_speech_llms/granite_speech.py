"""A tiny Granite Speech."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.granite_speech import GraniteSpeech
from support.tiny_speech_llms.tiny_family import TEXT_CONFIG, TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, tiny_tokenizer


def tiny_granite_speech() -> TinyFamily:
    """Blocks of 20 encoder frames, windows of 15 of which each gives three entries."""
    from transformers import (
        Blip2QFormerConfig,
        GraniteConfig,
        GraniteSpeechConfig,
        GraniteSpeechEncoderConfig,
        GraniteSpeechFeatureExtractor,
        GraniteSpeechForConditionalGeneration,
        GraniteSpeechProcessor,
    )

    text = {key: value for key, value in TEXT_CONFIG.items() if key != "head_dim"}
    torch.manual_seed(0)
    model = GraniteSpeechForConditionalGeneration(
        GraniteSpeechConfig(
            text_config=GraniteConfig(
                **text,
                attention_multiplier=0.2,
                embedding_multiplier=3.0,
                residual_multiplier=0.5,
                logits_scaling=2.0,
            ).to_dict(),
            encoder_config=GraniteSpeechEncoderConfig(
                input_dim=16,
                num_layers=2,
                hidden_dim=16,
                feedforward_mult=2,
                num_heads=2,
                output_dim=4,
                context_size=20,
                max_pos_emb=32,
                conv_kernel_size=3,
            ).to_dict(),
            projector_config=Blip2QFormerConfig(
                hidden_size=16,
                num_hidden_layers=1,
                num_attention_heads=2,
                intermediate_size=16,
                encoder_hidden_size=16,
                cross_attention_frequency=1,
                vocab_size=8,
                max_position_embeddings=16,
            ).to_dict(),
            audio_token_index=AUDIO,
            has_lora_adapter=False,
            tie_word_embeddings=False,
        )
    )
    tokenizer = tiny_tokenizer(
        ("<|audio|>", "<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>")
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    processor = GraniteSpeechProcessor(GraniteSpeechFeatureExtractor(n_mels=8), tokenizer)

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        entries = model.get_audio_features(**features).pooler_output.shape[1]
        return {**features, "input_features_mask": torch.ones(1, entries, dtype=torch.bool)}

    family = GraniteSpeech(strengthened(model), tokenizer, processor)
    pieces = ((0, 6_000), (10_000, 27_000), (30_000, 46_001), (50_000, 80_123))
    return TinyFamily(family, audio_inputs, pieces)


CHAT_TEMPLATE = (
    "{% for message in messages %}<|start_of_role|>{{ message['role'] }}<|end_of_role|>"
    "{{ message['content'] }}<|end_of_text|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start_of_role|>assistant<|end_of_role|>{% endif %}"
)
"""Of the form of the model's own."""
