"""A tiny VibeVoice-ASR."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch

from murmur_cli.asr.speech_llm.families.vibevoice import VibeVoice
from support.tiny_speech_llms.tiny_family import TEXT_CONFIG, TinyFamily, strengthened
from support.tiny_speech_llms.tiny_tokenizer import (
    AUDIO,
    AUDIO_BEGIN,
    AUDIO_END,
    tiny_tokenizer,
)


def tiny_vibevoice(ratios: tuple[int, int] = (2, 2)) -> TinyFamily:
    """Two tokenizers read in pieces of 16 hops; Qwen2 as its text model.

    ratios: their product is the hop in samples; (40, 80) is the hop of the published model.
    """
    from transformers import (
        Qwen2Config,
        VibeVoiceAcousticTokenizerEncoderConfig,
        VibeVoiceAcousticTokenizerFeatureExtractor,
        VibeVoiceAsrConfig,
        VibeVoiceAsrForConditionalGeneration,
        VibeVoiceAsrProcessor,
    )

    hop = math.prod(ratios)
    encoder = VibeVoiceAcousticTokenizerEncoderConfig(
        num_filters=4, downsampling_ratios=list(ratios), depths=[1, 1, 1], hidden_size=8
    ).to_dict()
    text = {key: value for key, value in TEXT_CONFIG.items() if key != "head_dim"}
    torch.manual_seed(0)
    model = VibeVoiceAsrForConditionalGeneration(
        VibeVoiceAsrConfig(
            acoustic_tokenizer_encoder_config=encoder,
            semantic_tokenizer_encoder_config=encoder,
            text_config=Qwen2Config(**text).to_dict(),
            audio_token_id=AUDIO,
            audio_bos_token_id=AUDIO_BEGIN,
            audio_eos_token_id=AUDIO_END,
            acoustic_tokenizer_chunk_size=16 * hop,
        )
    )
    tokenizer = tiny_tokenizer(("<|box_start|>", "<|object_ref_start|>", "<|object_ref_end|>"))
    processor = VibeVoiceAsrProcessor(
        VibeVoiceAcousticTokenizerFeatureExtractor(pad_to_multiple_of=hop),
        tokenizer,
        chat_template=CHAT_TEMPLATE,
    )

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        return {**features, "sample": False}

    family = VibeVoice(strengthened(model), tokenizer, processor)
    return TinyFamily(family, audio_inputs, ((0, 60), (100, 240), (300, 330), (400, 1000)))


def write_vibevoice_folder(folder: Path) -> Path:
    """A model for real recordings, 7.5 speech entries a second, as transformers writes it."""
    family = tiny_vibevoice((40, 80)).family
    family.model.save_pretrained(folder)
    family.processor.save_pretrained(folder)
    return folder


CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}\n{% for part in message['content'] %}"
    "{% if part['type'] == 'audio' %}<|object_ref_start|><|box_start|><|object_ref_end|>\n"
    "{% else %}{{ part['text'] }}{% endif %}{% endfor %}\n"
    "This is a <|AUDIO_DURATION|> seconds audio.\n{% endfor %}"
    "{% if add_generation_prompt %}assistant\n{% endif %}"
)
