"""Gemma 4: sliding and sharing layers, prompt, number of speech entries, outputs."""

from __future__ import annotations

import functools
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm import arena_attention
from murmur_cli.asr.speech_llm.families.gemma4 import Gemma4
from murmur_cli.asr.speech_llm.family import Ask, SpokenSegment
from murmur_cli.asr.speech_llm.layer_caches import LayerKind
from murmur_cli.engine.request import Request
from murmur_cli.errors import ModelError, UsageError
from support.tiny_speech_llms.gemma4 import FULL, SLIDING, gemma4_of, tiny_gemma4
from support.tiny_speech_llms.tiny_family import TinyFamily, engine_output, noise
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, AUDIO_BEGIN, AUDIO_END, BOS, END

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

RULES = (
    "Follow these specific instructions for formatting the answer:\n"
    "* Only output the transcription, with no newlines.\n"
    "* When transcribing numbers, write the digits, i.e. write 1.7 and not one point seven, and "
    "write 3 instead of three."
)


@functools.cache
def family() -> Gemma4:
    family = tiny_gemma4().family
    assert isinstance(family, Gemma4)
    return family


def ids_of(text: str) -> list[int]:
    ids: list[int] = family().tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


# --- layers -----------------------------------------------------------------------------------

DEEP = [SLIDING, SLIDING, FULL, SLIDING, SLIDING, FULL, SLIDING, FULL, SLIDING, FULL]


@functools.cache
def deep() -> TinyFamily:
    """Ten layers of which the last four share, and a window shorter than every prompt."""
    return gemma4_of(DEEP, shared=4, window=5)


def test_sharing_layers_read_the_last_own_layer_of_their_type() -> None:
    sliding, full = LayerKind(2, 8, slides=True), LayerKind(2, 16)
    assert deep().family.layers == (
        *(sliding, sliding, full, sliding, sliding, full),
        *(
            LayerKind(2, 8, 4, slides=True),
            LayerKind(2, 16, 5),
            LayerKind(2, 8, 4, slides=True),
            LayerKind(2, 16, 5),
        ),
    )


def recomputed(tiny: TinyFamily, request: Request) -> tuple[list[int], list[float]]:
    """Greedy tokens and their log-probabilities by the library's forward of the whole text so
    far, without any cache, for each token anew."""
    features = tiny.decoder().prepare(request.source).features
    entries = tiny.family.encode(features).shape[0]
    ids = [*request.prompt, *(AUDIO,) * entries, *request.suffix]
    tokens: list[int] = []
    logprobs: list[float] = []
    with tiny.library_attention(), torch.inference_mode():
        while len(tokens) < request.max_new_tokens:
            output = tiny.family.model(
                input_ids=torch.tensor([[*ids, *tokens]]), use_cache=False, **features
            )
            scores = output.logits[0, -1].float()
            scores[list(tiny.family.forbidden_tokens)] = -torch.inf
            best = int(scores.argmax())
            if best == END:
                break
            tokens.append(best)
            logprobs.append(float(torch.log_softmax(scores, dim=0)[best]))
    return tokens, logprobs


@pytest.mark.parametrize("query_block", [1024, 7])
def test_rows_longer_than_the_window_equal_a_full_recompute(
    query_block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arena_attention, "QUERY_BLOCK", query_block)
    tiny = deep()
    requests = [
        replace(
            request,
            prompt=(*range(10, 21 + 3 * number), AUDIO_BEGIN),
            suffix=(AUDIO_END, *range(40, 52)),
            max_new_tokens=8,
        )
        for number, request in enumerate(tiny.requests()[:2])
    ]
    done = engine_output(tiny, requests, slots=2)
    for request in requests:
        tokens, logprobs = recomputed(tiny, request)
        finished = done[request.key]
        assert list(finished.tokens) == tokens
        assert finished.logprobs[: len(tokens)] == pytest.approx(logprobs, abs=2e-4)


# --- audio ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "samples",
    [1, 160, 161, 162, 320, 321, 640, 641, 800, 801, 802, 1_281, 16_000, 48_001, 480_000, 496_000],
)
def test_speech_entries_equal_the_encoders_rows(samples: int) -> None:
    features = family().features(torch.from_numpy(noise(samples)))
    with torch.inference_mode():
        encoded = family().encode(features)
    assert encoded.shape == (family().speech_entries(samples), 32)
    assert torch.isfinite(encoded).all()


@pytest.mark.parametrize("samples", [161, 1_281, 16_000, 48_001])
def test_speech_entries_equal_the_processors_placeholders(samples: int) -> None:
    """The rule of Gemma4Processor.replace_audio_token, which cannot be built without
    torchvision: the mask's every second frame, twice."""
    from transformers.models.gemma4.processing_gemma4 import Gemma4Processor

    stand_in = type("Processor", (), {"boa_token": "(", "audio_token": "*", "eoa_token": ")"})()
    features = family().features(torch.from_numpy(noise(samples)))
    text = Gemma4Processor.replace_audio_token(stand_in, features, 0)
    assert text == f"({'*' * family().speech_entries(samples)})"


def test_features_equal_the_extractors_on_a_clip() -> None:
    theirs = family().processor([noise(20_123)], sampling_rate=16_000, return_tensors="pt")
    ours = family().features(torch.from_numpy(noise(20_123)))
    assert torch.equal(ours["input_features"], theirs["input_features"])
    assert torch.equal(ours["input_features_mask"], theirs["input_features_mask"])


# --- prompt -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "instruction"),
    [
        (
            Ask(1.0),
            f"Transcribe the following speech segment in its original language. {RULES}",
        ),
        (
            Ask(1.0, language="de", context="Anna, Köln"),
            "Transcribe the following speech segment in German into German text. "
            f"{RULES}\n* These names and terms may be spoken: Anna, Köln",
        ),
        (
            Ask(1.0, language="fr", task="translate"),
            "Transcribe the following speech segment in French, then translate it into English. "
            "When formatting the answer, first output the transcription in French, then one "
            "newline, then output the string 'English: ', then the translation in English.",
        ),
    ],
)
def test_prompt_is_the_chat_template_with_the_audio_first(ask: Ask, instruction: str) -> None:
    """Instructions: the model card of google/gemma-4-E4B-it; brackets of audio:
    processing_gemma4.py, replace_audio_token."""
    prompt = family().prompt(ask)
    assert prompt.before == (BOS, *ids_of("<|turn>user\n"), AUDIO_BEGIN)
    assert prompt.after == (AUDIO_END, *ids_of(f"{instruction}<turn|>\n<|turn>model\n"))


def test_a_language_without_a_name_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--language xx: unknown to Gemma 4; known: af am"):
        family().prompt(Ask(1.0, language="xx"))


# --- output -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_cut", "spoken"),
    [
        ("Well, hello.", False, "Well, hello."),
        (" Well,", True, "Well,"),
        ("Guten Tag.\nEnglish: Good day.", False, "Good day."),
        ("Guten Tag.\nEnglish: Good", True, "Good"),
        ("Guten Tag.\nEngl", True, "Guten Tag.\nEngl"),
        ("In English: yes", False, "In English: yes"),
        ("<|channel>thought\n<channel|>Hello.", False, "Hello."),
        ("<|channel>thought\nhm<channel|>A<|channel>b<channel|>C", False, "AC"),
        ("<|channel>thought\nhm", True, None),
        ("", False, None),
    ],
)
def test_read(text: str, is_cut: bool, spoken: str | None) -> None:
    output = family().read([*ids_of(text), END], is_cut=is_cut)
    assert output.segments == ((SpokenSegment(spoken),) if spoken else ())
    assert (output.is_whole, output.language, output.unreadable) == (not is_cut, None, "")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 263), max_size=40), st.booleans())
def test_read_never_raises(tokens: list[int], is_cut: bool) -> None:
    family().read(tokens, is_cut=is_cut)


def test_scores_stay_within_the_cap() -> None:
    hidden = torch.randn(2, 32, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        scores = family().logits(1e4 * hidden)
    assert scores.dtype == torch.float32
    assert float(scores.abs().max()) <= 30.0


def test_forbidden_tokens_lie_in_the_vocabulary() -> None:
    """Placeholders of pictures lie outside of the tiny one."""
    assert family().forbidden_tokens == (AUDIO, AUDIO_BEGIN, AUDIO_END)


# --- folder -----------------------------------------------------------------------------------


def test_a_saved_folder_loads_and_hears_the_same(tmp_path: Path) -> None:
    family().model.save_pretrained(tmp_path)
    family().tokenizer.save_pretrained(tmp_path)
    family().processor.save_pretrained(tmp_path)
    loaded = Gemma4.load(tmp_path, dtype=torch.float32, device_map="cpu")
    ask = Ask(1.0, language="fr", context="Zoë")
    assert loaded.prompt(ask) == family().prompt(ask)
    features = family().features(torch.from_numpy(noise(12_345)))
    with torch.inference_mode():
        assert torch.equal(loaded.encode(features), family().encode(features))
    assert loaded.end_tokens == {END}


def test_a_gemma_without_audio_is_a_model_error(tmp_path: Path) -> None:
    config = type(family().model.config)(
        text_config=family().text_config, vision_config=None, audio_config=None
    )
    config.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="takes no audio; E2B and E4B do"):
        Gemma4.load(tmp_path, dtype=torch.float32, device_map="cpu")
