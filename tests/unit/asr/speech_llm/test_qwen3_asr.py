"""Qwen3-ASR: prompt, number of speech entries and outputs, against the library's own processor."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.families.qwen3_asr import Qwen3Asr
from murmur_cli.asr.speech_llm.family import Ask, SpokenSegment
from murmur_cli.errors import UsageError
from support.tiny_speech_llms.qwen3_asr import tiny_qwen3_asr
from support.tiny_speech_llms.tiny_family import noise
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, AUDIO_BEGIN, AUDIO_END, END

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


@functools.cache
def family() -> Qwen3Asr:
    family = tiny_qwen3_asr().family
    assert isinstance(family, Qwen3Asr)
    return family


@pytest.mark.parametrize(
    "samples", [1, 159, 8_000, 8_001, 15_999, 16_000, 16_001, 17_280, 47_999, 48_000, 48_160]
)
def test_speech_entries_equal_the_encoders_rows_and_the_processors_placeholders(
    samples: int,
) -> None:
    audio = noise(samples)
    features = family().features(torch.from_numpy(audio))
    entries = family().speech_entries(samples)
    with torch.inference_mode():
        assert family().encode(features).shape == (entries, 32)
    inputs = family().processor(text="<|audio_pad|>", audio=[audio], sampling_rate=16_000)
    assert int((inputs["input_ids"] == AUDIO).sum()) == entries


def test_features_equal_the_processors() -> None:
    audio = noise(20_123)
    theirs = family().processor(text="<|audio_pad|>", audio=[audio], sampling_rate=16_000)
    ours = family().features(torch.from_numpy(audio))
    assert torch.equal(ours["input_features"], theirs["input_features"])
    assert torch.equal(ours["input_features_mask"], theirs["input_features_mask"])


@pytest.mark.parametrize(("language", "context"), [(None, ""), ("en", ""), ("de", "Anna, Köln")])
def test_prompt_equals_the_processors_with_the_speech_between(
    language: str | None, context: str
) -> None:
    theirs = family().processor.apply_transcription_request(
        audio=[np.zeros(16_000, np.float32)], language=language, prompt=context or None
    )["input_ids"][0]
    ours = family().prompt(Ask(1.0, language=language, context=context))
    entries = family().speech_entries(16_000)
    assert [*ours.before, *(AUDIO,) * entries, *ours.after] == theirs.tolist()
    assert (ours.before[-1], ours.after[0]) == (AUDIO_BEGIN, AUDIO_END)


def test_a_language_that_the_model_lacks_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--language sw: unknown to Qwen3-ASR; known: ar cs"):
        family().prompt(Ask(1.0, language="sw"))


@pytest.mark.parametrize(
    ("text", "is_cut", "spoken", "language", "unreadable"),
    [
        ("language English<asr_text>Well, hello.", False, "Well, hello.", "en", ""),
        ("language Chinese\n<asr_text>你好。", False, "你好。", "zh", ""),
        ("language None<asr_text>", False, None, None, ""),
        ("language Klingon<asr_text>nuqneH", False, "nuqneH", None, "language Klingon"),
        ("language English\nnoise<asr_text>Hi", False, "Hi", "en", "noise"),
        ("<asr_text>Hi", False, "Hi", None, ""),
        ("Well, hello.", False, "Well, hello.", None, ""),
        ("language models are large", False, "language models are large", None, ""),
        ("language English", False, None, None, ""),
        ("language Engl", True, None, None, "language Engl"),
        ("language English<asr_t", True, None, None, "language English<asr_t"),
        ("language English<asr_text>Hel", True, "Hel", "en", ""),
        ("a<asr_text>b<asr_text>c", False, "b<asr_text>c", None, "a"),
        ("", False, None, None, ""),
        ("", True, None, None, ""),
    ],
)
def test_read(
    text: str, is_cut: bool, spoken: str | None, language: str | None, unreadable: str
) -> None:
    tokens = family().tokenizer(text, add_special_tokens=False)["input_ids"]
    output = family().read([*tokens, END], is_cut=is_cut)
    assert output.segments == ((SpokenSegment(spoken),) if spoken else ())
    assert (output.is_whole, output.language) == (not is_cut, language)
    assert output.unreadable == unreadable


def test_read_equals_the_processors_where_the_form_is_whole() -> None:
    text = "language French<asr_text>Bonjour à tous."
    tokens = family().tokenizer(text, add_special_tokens=False)["input_ids"]
    theirs = family().processor.parse_output(text)
    ours = family().read(tokens, is_cut=False)
    assert ours.segments[0].text == theirs["transcription"]
    assert (ours.language, theirs["language"]) == ("fr", "French")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 263), max_size=40), st.booleans())
def test_read_never_raises(tokens: list[int], is_cut: bool) -> None:
    family().read(tokens, is_cut=is_cut)


def test_forbidden_tokens_are_the_marks_of_audio_and_of_the_aligner() -> None:
    assert family().forbidden_tokens == (AUDIO, AUDIO_BEGIN, AUDIO_END, 262)


def test_a_saved_folder_loads_and_hears_the_same(tmp_path: Path) -> None:
    family().model.save_pretrained(tmp_path)
    family().processor.save_pretrained(tmp_path)
    loaded = Qwen3Asr.load(tmp_path, dtype=torch.float32, device_map="cpu")
    ask = Ask(1.0, language="fr", context="Zoë")
    assert loaded.prompt(ask) == family().prompt(ask)
    features = family().features(torch.from_numpy(noise(12_345)))
    with torch.inference_mode():
        assert torch.equal(loaded.encode(features), family().encode(features))
    assert loaded.end_tokens == {END}
