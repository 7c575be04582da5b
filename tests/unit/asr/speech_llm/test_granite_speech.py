"""Granite Speech: prompt, number of speech entries, the adapter, against the library's own."""

from __future__ import annotations

import functools
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.families import granite_speech
from murmur_cli.asr.speech_llm.families.granite_speech import GraniteSpeech
from murmur_cli.asr.speech_llm.family import Ask, SpokenSegment
from murmur_cli.errors import ModelError, UsageError
from support.tiny_speech_llms.granite_speech import tiny_granite_speech
from support.tiny_speech_llms.tiny_family import TinyFamily, engine_output, noise
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, END

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

TRANSCRIBE = "can you transcribe the speech into a written format?"


@functools.cache
def tiny() -> TinyFamily:
    return tiny_granite_speech()


def family() -> GraniteSpeech:
    family = tiny().family
    assert isinstance(family, GraniteSpeech)
    return family


def ids_of(text: str) -> list[int]:
    ids: list[int] = family().tokenizer(text, add_special_tokens=False)["input_ids"]
    return ids


# --- audio ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "samples", [1, 159, 256, 257, 320, 4_639, 4_640, 4_641, 9_439, 9_440, 16_000, 64_000, 64_321]
)
def test_speech_entries_equal_the_encoders_rows(samples: int) -> None:
    features = family().features(torch.from_numpy(noise(samples)))
    with torch.inference_mode():
        encoded = family().encode(features)
    assert encoded.shape == (family().speech_entries(samples), 32)
    assert torch.isfinite(encoded).all()


@pytest.mark.parametrize("samples", [257, 4_640, 16_000, 64_321])
def test_speech_entries_and_features_equal_the_processors(samples: int) -> None:
    audio = torch.from_numpy(noise(samples))
    inputs = family().processor(text="<|audio|>", audio=[audio])
    assert sum(token == AUDIO for token in inputs["input_ids"][0]) == family().speech_entries(
        samples
    )
    ours = family().features(audio)["input_features"]
    assert torch.equal(ours, inputs["input_features"])


# --- prompt -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "instruction"),
    [
        (Ask(1.0), TRANSCRIBE),
        (Ask(1.0, context="IBM, Köln"), f"{TRANSCRIBE} Keywords: IBM, Köln"),
        (
            Ask(1.0, language="fr"),
            "can you transcribe the French speech into a written format?",
        ),
        (Ask(1.0, task="translate"), "translate the speech to English."),
        (
            Ask(1.0, language="ja", task="translate", context="Edo"),
            "translate the speech to English. Keywords: Edo",
        ),
    ],
)
def test_prompt_is_the_chat_template_with_the_audio_first(ask: Ask, instruction: str) -> None:
    prompt = family().prompt(ask)
    assert prompt.before == tuple(ids_of("<|start_of_role|>user<|end_of_role|>"))
    assert prompt.after == tuple(
        ids_of(f"{instruction}<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>")
    )


def test_prompt_equals_the_processors() -> None:
    audio = torch.from_numpy(noise(16_000))
    chat = [{"role": "user", "content": f"<|audio|>{TRANSCRIBE}"}]
    text = family().tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    theirs = family().processor(text=text, audio=[audio])["input_ids"][0]
    ours = family().prompt(Ask(1.0))
    assert [*ours.before, *(AUDIO,) * family().speech_entries(16_000), *ours.after] == list(theirs)


def test_a_template_that_writes_the_date_gets_the_cards_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    template = "{% if messages[0]['role'] != 'system' %}{{ strftime_now('%B %d, %Y') }}{% endif %}"
    monkeypatch.setattr(
        family().tokenizer, "chat_template", template + family().tokenizer.chat_template
    )
    prompt = family().prompt(Ask(1.0))
    system = "Knowledge Cutoff Date: April 2024.\nToday's Date: December 19, 2024.\n"
    system += "You are Granite, developed by IBM. You are a helpful AI assistant"
    before = f"<|start_of_role|>system<|end_of_role|>{system}<|end_of_text|>\n"
    assert prompt.before == tuple(ids_of(before + "<|start_of_role|>user<|end_of_role|>"))


@pytest.mark.parametrize("task", ["transcribe", "translate"])
def test_a_language_that_the_model_lacks_is_a_usage_error(task: str) -> None:
    with pytest.raises(UsageError, match="--language it: unknown to Granite Speech; known: de en"):
        family().prompt(Ask(1.0, language="it", task=task))


# --- output -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_cut", "spoken"),
    [("well hello", False, "well hello"), (" well", True, "well"), (" \n", False, None)],
)
def test_read(text: str, is_cut: bool, spoken: str | None) -> None:
    output = family().read([*ids_of(text), END], is_cut=is_cut)
    assert output.segments == ((SpokenSegment(spoken),) if spoken else ())
    assert (output.is_whole, output.language, output.unreadable) == (not is_cut, None, "")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 263), max_size=40), st.booleans())
def test_read_never_raises(tokens: list[int], is_cut: bool) -> None:
    family().read(tokens, is_cut=is_cut)


def test_scores_are_divided_as_the_text_models_own_head_divides_them() -> None:
    hidden = torch.randn(2, 32, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        assert torch.equal(family().logits(hidden), family().model.lm_head(hidden) / 2.0)


# --- folder -----------------------------------------------------------------------------------


def saved(folder: Path, model: Any) -> Path:
    model.save_pretrained(folder)
    family().processor.save_pretrained(folder)
    return folder


def test_a_saved_folder_loads_and_hears_the_same(tmp_path: Path) -> None:
    loaded = GraniteSpeech.load(
        saved(tmp_path, family().model), dtype=torch.float32, device_map="cpu"
    )
    ask = Ask(1.0, language="fr", context="Zoë")
    assert loaded.prompt(ask) == family().prompt(ask)
    features = family().features(torch.from_numpy(noise(12_345)))
    with torch.inference_mode():
        assert torch.equal(loaded.encode(features), family().encode(features))
    assert loaded.end_tokens == {END}
    assert loaded.forbidden_tokens == (AUDIO,)


@pytest.mark.parametrize(
    ("present", "change", "message"),
    [
        (
            {"torchaudio"},
            {"has_lora_adapter": True},
            "needs the package peft for its adapter for speech; install it: pip install 'peft>=0",
        ),
        ({"peft"}, {}, "needs the package torchaudio for its spectrum; install it"),
        (
            {"peft", "torchaudio"},
            {"has_lora_adapter": True},
            r"adapter_config.json is missing, without which Granite Speech .* fetch the model",
        ),
    ],
)
def test_what_is_missing_is_a_model_error(
    present: set[str],
    change: dict[str, bool],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = type(family().model.config).from_dict({**family().model.config.to_dict(), **change})
    config.save_pretrained(tmp_path)
    monkeypatch.setattr(
        granite_speech, "find_spec", lambda name: object() if name in present else None
    )
    with pytest.raises(ModelError, match=message):
        GraniteSpeech.load(tmp_path, dtype=torch.float32, device_map="cpu")


def test_a_text_model_that_is_no_granite_is_a_model_error(tmp_path: Path) -> None:
    changed = {**family().model.config.to_dict(), "text_config": {"model_type": "qwen3"}}
    type(family().model.config).from_dict(changed).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="its text model is of type 'qwen3'"):
        GraniteSpeech.load(tmp_path, dtype=torch.float32, device_map="cpu")


def has_peft() -> bool:
    """Whether there is a peft that transformers accepts."""
    from packaging.version import Version
    from transformers.integrations.peft import MIN_PEFT_VERSION

    try:
        return Version(version("peft")) >= Version(MIN_PEFT_VERSION)
    except PackageNotFoundError:
        return False


@pytest.mark.skipif(not has_peft(), reason="no package peft that transformers accepts")
def test_an_adapter_is_loaded_and_on(tmp_path: Path) -> None:
    """Tokens of the engine equal those of the library's generate, which turns it on, and differ
    from those without it."""
    from peft import LoraConfig
    from transformers import PreTrainedModel

    other = tiny_granite_speech()
    model = other.family.model
    before = other.generate(other.requests()[:1])
    model.config.has_lora_adapter = True
    saved(tmp_path, model)
    model.add_adapter(LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False))
    # The adapter's files alone; the class's own method would save the base anew, renamed.
    PreTrainedModel.save_pretrained(model, str(tmp_path))
    loaded = GraniteSpeech.load(tmp_path, dtype=torch.float32, device_map="cpu")
    # The library's extractor forgets the tiny number of mel bands when it is saved.
    loaded.processor = family().processor

    def audio_inputs(features: dict[str, torch.Tensor]) -> dict[str, Any]:
        entries = loaded.encode(features).shape[0]
        return {**features, "input_features_mask": torch.ones(1, entries, dtype=torch.bool)}

    with_adapter = TinyFamily(loaded, audio_inputs, other.pieces)
    requests = with_adapter.requests()
    done = engine_output(with_adapter, requests, slots=2)
    for request in requests:
        assert [list(done[request.key].tokens)] == with_adapter.generate([request])
    assert [list(done[requests[0].key].tokens)] != before
