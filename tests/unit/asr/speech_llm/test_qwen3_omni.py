"""Qwen3-Omni's thinker: prompt and features, against its README and its extractor."""

from __future__ import annotations

import functools

import pytest
import torch

from murmur_cli.asr.speech_llm.families.qwen3_omni import Qwen3Omni
from murmur_cli.asr.speech_llm.family import Ask
from support.tiny_speech_llms.qwen3_omni import tiny_qwen3_omni
from support.tiny_speech_llms.tiny_family import noise

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


@functools.cache
def family() -> Qwen3Omni:
    family = tiny_qwen3_omni().family
    assert isinstance(family, Qwen3Omni)
    return family


def test_prompt_has_no_system_turn_and_the_request_after_the_audio() -> None:
    """Qwen3-Omni's README, 'Setting for Evaluation'."""
    before = "<|im_start|>user\n<|audio_start|>"
    after = (
        "<|audio_end|>Transcribe the English audio into text.<|im_end|>\n<|im_start|>assistant\n"
    )
    ours = family().prompt(Ask(1.0, language="en"))
    for ids, text in ((ours.before, before), (ours.after, after)):
        assert list(ids) == family().tokenizer(text, add_special_tokens=False)["input_ids"]


@pytest.mark.parametrize(
    "samples", [1, 400, 480, 1_280, 1_440, 15_999, 16_000, 16_001, 16_160, 32_000, 47_999, 90_123]
)
def test_speech_entries_equal_the_encoders_rows_and_the_processors_count(samples: int) -> None:
    from transformers.models.qwen3_omni_moe.processing_qwen3_omni_moe import (
        _get_feat_extract_output_lengths,
    )

    features = family().features(torch.from_numpy(noise(samples)))
    entries = family().speech_entries(samples)
    with torch.inference_mode():
        assert family().encode(features).shape == (entries, 32)
    assert entries == _get_feat_extract_output_lengths(max(400, samples) // 160) >= 1


@pytest.mark.parametrize("samples", [400, 1_000, 16_000, 20_123, 70_000])
def test_features_equal_the_processors(samples: int) -> None:
    theirs = family().processor(
        noise(samples),
        sampling_rate=16_000,
        padding=True,
        truncation=False,
        return_attention_mask=True,
        return_tensors="pt",
    )
    ours = family().features(torch.from_numpy(noise(samples)))
    assert torch.equal(ours["input_features"], theirs["input_features"])
    assert torch.equal(ours["feature_attention_mask"], theirs["attention_mask"].long())
