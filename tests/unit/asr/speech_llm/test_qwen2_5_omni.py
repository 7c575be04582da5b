"""Qwen2.5-Omni's thinker: prompt and features, against its chat template and its extractor."""

from __future__ import annotations

import functools

import pytest
import torch

from murmur_cli.asr.speech_llm.families.qwen2_5_omni import Qwen2_5Omni
from murmur_cli.asr.speech_llm.family import Ask
from support.tiny_speech_llms.qwen2_5_omni import tiny_qwen2_5_omni
from support.tiny_speech_llms.tiny_family import noise
from support.tiny_speech_llms.tiny_tokenizer import AUDIO

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

CHAT_TEMPLATE = (
    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\n"
    "You are a helpful assistant.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}<|im_end|>\n"
    "{% else %}{% for content in message['content'] %}"
    "{% if content['type'] == 'audio' or 'audio' in content or 'audio_url' in content %}"
    "<|audio_bos|><|AUDIO|><|audio_eos|>"
    "{% elif 'text' in content %}{{ content['text'] }}{% endif %}{% endfor %}<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The model's own, what it says of text and audio."""


@functools.cache
def family() -> Qwen2_5Omni:
    family = tiny_qwen2_5_omni().family
    assert isinstance(family, Qwen2_5Omni)
    return family


@pytest.mark.parametrize(
    ("ask", "system", "request_text"),
    [
        (
            Ask(1.0, language="en"),
            "You are a speech recognition model.",
            "Transcribe the English audio into text.",
        ),
        (
            Ask(1.0, language="fr", task="translate"),
            "You are a speech translation model.",
            "Listen to the provided French speech and produce a translation in English text.",
        ),
    ],
)
def test_prompt_equals_the_chat_templates(ask: Ask, system: str, request_text: str) -> None:
    theirs = family().tokenizer.apply_chat_template(
        [
            {"role": "system", "content": [{"type": "text", "text": system}]},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": request_text},
                    {"type": "audio", "audio": "meeting.wav"},
                ],
            },
        ],
        chat_template=CHAT_TEMPLATE,
        add_generation_prompt=True,
        return_dict=False,
    )
    ours = family().prompt(ask)
    assert [*ours.before, AUDIO, *ours.after] == theirs


@pytest.mark.parametrize(
    "samples", [1, 480, 481, 640, 641, 3_199, 3_200, 3_201, 6_400, 6_560, 6_720, 31_999, 40_123]
)
def test_speech_entries_equal_the_encoders_rows_and_the_processors_count(samples: int) -> None:
    from transformers.models.qwen2_5_omni.processing_qwen2_5_omni import (
        _get_feat_extract_output_lengths,
    )

    features = family().features(torch.from_numpy(noise(samples)))
    entries = family().speech_entries(samples)
    with torch.inference_mode():
        assert family().encode(features).shape == (entries, 32)
    frames = max(3, -(-samples // 160))
    assert entries == _get_feat_extract_output_lengths(frames) >= 1


@pytest.mark.parametrize("samples", [480, 1_000, 3_200, 20_123, 31_000])
def test_features_equal_the_processors(samples: int) -> None:
    """It pads with silence to the extractor's length, here 2 s, and masks what is padded."""
    theirs = family().processor(
        noise(samples),
        sampling_rate=16_000,
        padding="max_length",
        return_attention_mask=True,
        return_tensors="pt",
    )
    ours = family().features(torch.from_numpy(noise(samples)))
    frames = int(theirs["attention_mask"].sum())
    assert ours["feature_attention_mask"].shape == (1, frames)
    torch.testing.assert_close(
        ours["input_features"], theirs["input_features"][:, :, :frames], atol=1e-6, rtol=0
    )


def test_audio_longer_than_the_extractors_length_is_not_cut() -> None:
    features = family().features(torch.from_numpy(noise(70_000)))
    assert features["input_features"].shape == (1, 16, 438)
