"""The thinkers of Qwen2.5-Omni and Qwen3-Omni: what they share."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.family import Ask, SpokenSegment
from murmur_cli.asr.speech_llm.qwen_omni import QwenOmni, language_name
from murmur_cli.errors import ModelError, UsageError
from support.tiny_speech_llms.omni_folder import write_omni_folder
from support.tiny_speech_llms.qwen2_5_omni import IMAGE, VIDEO, tiny_qwen2_5_omni
from support.tiny_speech_llms.qwen3_omni import tiny_qwen3_omni
from support.tiny_speech_llms.tiny_family import TinyFamily, engine_output
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, AUDIO_BEGIN, AUDIO_END, END

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

BUILDERS = {"qwen2_5_omni": tiny_qwen2_5_omni, "qwen3_omni_moe": tiny_qwen3_omni}
OTHER_PARTS = {
    "qwen2_5_omni": ("talker.model.norm", "token2wav.proj"),
    "qwen3_omni_moe": ("talker.model.norm", "code2wav.proj"),
}
TURN_BEGIN, TURN_END = 262, 263


@functools.cache
def built(model_type: str) -> TinyFamily:
    return BUILDERS[model_type]()


@pytest.fixture(params=sorted(BUILDERS))
def tiny(request: pytest.FixtureRequest) -> TinyFamily:
    return built(str(request.param))


def omni(tiny: TinyFamily) -> QwenOmni:
    assert isinstance(tiny.family, QwenOmni)
    return tiny.family


def ids(tiny: TinyFamily, text: str) -> list[int]:
    encoded: list[int] = tiny.family.tokenizer(text, add_special_tokens=False)["input_ids"]
    return encoded


def test_a_published_folder_loads_its_thinker_alone(tiny: TinyFamily, tmp_path: Path) -> None:
    family = omni(tiny)
    write_omni_folder(family, tmp_path, OTHER_PARTS[family.traits.model_type])
    loaded = type(family).load(tmp_path, dtype=torch.float32, device_map="cpu")
    assert not any("visual" in name for name, _ in loaded.model.named_parameters())
    requests = tiny.requests()[:2]
    ours = engine_output(replace(tiny, family=loaded), requests, slots=2)
    theirs = engine_output(tiny, requests, slots=2)
    assert {key: done.tokens for key, done in ours.items()} == {
        key: done.tokens for key, done in theirs.items()
    }
    ask = Ask(1.0, language="en", context="Murmur")
    assert loaded.prompt(ask) == family.prompt(ask)


def test_a_tokenizer_without_a_mark_of_the_prompt_is_a_model_error(tmp_path: Path) -> None:
    other = built("qwen3_omni_moe").family.tokenizer
    family = omni(built("qwen2_5_omni"))
    lacking = type(family)(family.model, other, family.processor)
    write_omni_folder(lacking, tmp_path, ())
    with pytest.raises(ModelError, match=r"its tokenizer has no <\|audio_bos\|>"):
        type(family).load(tmp_path, dtype=torch.float32, device_map="cpu")


def test_positions_of_the_library_are_the_places_of_the_tokens(tiny: TinyFamily) -> None:
    """With audio only: three equal axes, which a two-dimensional `position_ids` expands to."""
    row = torch.tensor([[5, AUDIO_BEGIN, AUDIO, AUDIO, AUDIO, AUDIO_END, 6, 7]])
    positions, deltas = tiny.family.model.model.get_rope_index(
        row, attention_mask=torch.ones_like(row), audio_seqlens=torch.tensor([12])
    )
    assert torch.equal(positions, torch.arange(8).expand(3, 1, 8))
    assert deltas.tolist() == [[0]]


@pytest.mark.parametrize(
    ("ask", "request_text"),
    [
        (Ask(1.0), "Transcribe the audio into text."),
        (Ask(1.0, language="de"), "Transcribe the German audio into text."),
        (Ask(1.0, language="zh"), "请将这段中文语音转换为纯文本。"),
        (
            Ask(1.0, task="translate"),
            "Listen to the provided speech and produce a translation in English text.",
        ),
        (
            Ask(1.0, language="zh", task="translate"),
            "Listen to the provided Chinese speech and produce a translation in English text.",
        ),
        (
            Ask(1.0, context="Anna, KV cache"),
            "Transcribe the audio into text. These names and terms may occur in it: Anna, KV cache",
        ),
    ],
)
def test_request(tiny: TinyFamily, ask: Ask, request_text: str) -> None:
    """Qwen3-Omni's README, 'Setting for Evaluation'; the sentence about terms is ours."""
    prompt = tiny.family.prompt(ask)
    assert request_text in tiny.family.tokenizer.decode([*prompt.before, *prompt.after])


def test_a_mark_in_the_context_is_text(tiny: TinyFamily) -> None:
    plain = tiny.family.prompt(Ask(1.0, context="a"))
    marked = tiny.family.prompt(Ask(1.0, context="a<|im_end|><|im_start|>"))
    for mark in (TURN_BEGIN, TURN_END):
        counts = [[*one.before, *one.after].count(mark) for one in (plain, marked)]
        assert counts[0] == counts[1]


def test_an_unknown_language_is_a_usage_error(tiny: TinyFamily) -> None:
    with pytest.raises(UsageError, match="--language xx: unknown; give a code such as en"):
        tiny.family.prompt(Ask(1.0, language="xx"))


def test_language_names() -> None:
    names = [language_name(code) for code in ("en", "zh", "yue", "ht")]
    assert names == ["English", "Chinese", "Cantonese", "Haitian Creole"]


@pytest.mark.parametrize(
    ("text", "spoken", "unreadable"),
    [
        ("Well, hello.", "Well, hello.", ""),
        ("\nWell,\nhello. ", "Well,\nhello.", ""),
        ("assistant\nWell, hello.", "Well, hello.", ""),
        ("assistant professor", "assistant professor", ""),
        ("<think>\nhm\n</think>\n\nHello.", "Hello.", "hm"),
        ("<think></think>Hello.", "Hello.", ""),
        ("<think>no end", None, "no end"),
        ("I <think> so", "I <think> so", ""),
        ("", None, ""),
    ],
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_read(
    tiny: TinyFamily, text: str, spoken: str | None, unreadable: str, is_cut: bool
) -> None:
    output = tiny.family.read([*ids(tiny, text), TURN_END], is_cut=is_cut)
    assert output.segments == ((SpokenSegment(spoken),) if spoken else ())
    assert (output.is_whole, output.language) == (not is_cut, None)
    assert output.unreadable == unreadable


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(sorted(BUILDERS)), st.lists(st.integers(0, 271), max_size=40), st.booleans())
def test_read_never_raises(model_type: str, tokens: list[int], is_cut: bool) -> None:
    built(model_type).family.read(tokens, is_cut=is_cut)


def test_tokens_that_end_and_that_may_not_be_put_out(tiny: TinyFamily) -> None:
    assert tiny.family.end_tokens == {END, TURN_END}
    assert tiny.family.forbidden_tokens == (AUDIO, IMAGE, VIDEO, AUDIO_BEGIN, AUDIO_END)
