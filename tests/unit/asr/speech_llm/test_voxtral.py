"""Voxtral: prompt, pieces and outputs; against mistral-common where that is installed."""

from __future__ import annotations

import functools
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.families.voxtral import (
    TRANSLATE_REQUEST,
    Voxtral,
    load_tokenizer,
)
from murmur_cli.asr.speech_llm.family import Ask, SpokenSegment
from murmur_cli.errors import ModelError, UsageError
from support.tiny_speech_llms.tekken import SPECIAL, write_tekken
from support.tiny_speech_llms.tiny_family import TinyFamily, engine_output, noise
from support.tiny_speech_llms.tiny_tokenizer import AUDIO, AUDIO_BEGIN, BOS, END
from support.tiny_speech_llms.voxtral import tiny_voxtral

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

PIECE = 3_200
TURN_BEGIN, TURN_END, TRANSCRIBE = 262, 261, 263


@functools.cache
def tiny() -> TinyFamily:
    return tiny_voxtral()


def family() -> Voxtral:
    family = tiny().family
    assert isinstance(family, Voxtral)
    return family


def ids(text: str) -> tuple[int, ...]:
    return tuple(family().tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize(
    ("samples", "pieces"),
    [
        *((1, 1), (PIECE - 1, 1), (PIECE, 1), (PIECE + 1, 2), (2 * PIECE, 2)),
        *((2 * PIECE + 1, 3), (8 * PIECE, 8), (8 * PIECE + 1, 9), (17 * PIECE, 17)),
    ],
)
def test_speech_entries_equal_the_encoders_rows_of_whole_pieces(samples: int, pieces: int) -> None:
    with torch.inference_mode():
        encoded = family().encode(family().features(torch.from_numpy(noise(samples))))
    assert encoded.shape == (family().speech_entries(samples), 32) == (5 * pieces, 32)


def test_pieces_encoded_a_few_at_a_time_equal_the_librarys_all_at_once() -> None:
    features = family().features(torch.from_numpy(noise(11 * PIECE)))
    with torch.inference_mode():
        theirs = family().model.get_audio_features(**features).pooler_output
        torch.testing.assert_close(family().encode(features), theirs)


@pytest.mark.parametrize("samples", [100, PIECE, 2 * PIECE + 777])
def test_features_equal_the_processors(samples: int) -> None:
    from transformers import VoxtralProcessor

    processor = VoxtralProcessor(family().processor, family().tokenizer)
    theirs = processor._retrieve_input_features(
        [noise(samples)],
        20,
        sampling_rate=16_000,
        padding=True,
        truncation=False,
        pad_to_multiple_of=PIECE,
        return_tensors="pt",
    )
    ours = family().features(torch.from_numpy(noise(samples)))["input_features"]
    assert torch.equal(ours, theirs)


def test_prompt_of_a_transcription() -> None:
    """mistral-common 1.13, `InstructTokenizerV7._encode_instruct_transcription`."""
    before = (BOS, TURN_BEGIN, AUDIO_BEGIN)
    plain = family().prompt(Ask(1.0))
    assert (plain.before, plain.after) == (before, (TURN_END, TRANSCRIBE))
    german = family().prompt(Ask(1.0, language="de"))
    assert (german.before, german.after) == (before, (TURN_END, *ids("lang:de"), TRANSCRIBE))


def test_prompt_of_a_translation_is_an_instruction_in_the_users_turn() -> None:
    prompt = family().prompt(Ask(1.0, language="de", task="translate"))
    assert prompt.after == (*ids(TRANSLATE_REQUEST), TURN_END)


@pytest.mark.parametrize("language", ["deu", "EN", "e", "é1"])
def test_a_language_that_is_no_code_of_two_letters_is_a_usage_error(language: str) -> None:
    with pytest.raises(UsageError, match=f"--language {language}: Voxtral takes a code of two"):
        family().prompt(Ask(1.0, language=language))


@pytest.mark.parametrize("language", [None, "en", "de"])
@pytest.mark.parametrize("task", ["transcribe", "translate"])
def test_prompt_equals_mistral_commons(tmp_path: Path, language: str | None, task: str) -> None:
    pytest.importorskip("mistral_common", reason="mistral-common is not installed")
    import soundfile
    from mistral_common.protocol.instruct.chunk import AudioChunk, TextChunk
    from mistral_common.protocol.instruct.messages import UserMessage
    from mistral_common.protocol.instruct.request import ChatCompletionRequest
    from mistral_common.protocol.transcription.request import TranscriptionRequest
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    write_tekken(tmp_path)
    peer = MistralTokenizer.from_file(str(tmp_path / "tekken.json"))
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros(16_000, np.float32), 16_000, format="wav")
    if task == "transcribe":
        buffer.seek(0)
        request = {"model": "voxtral", "file": buffer, "language": language}
        theirs = peer.encode_transcription(TranscriptionRequest.from_openai(request)).tokens
    else:
        content = [AudioChunk(input_audio=buffer.getvalue()), TextChunk(text=TRANSLATE_REQUEST)]
        chat = ChatCompletionRequest(messages=[UserMessage(content=content)])
        theirs = peer.encode_chat_completion(chat).tokens
    ours = Voxtral(family().model, load_tokenizer(tmp_path), family().processor).prompt(
        Ask(1.0, language=language, task=task)
    )
    audio = SPECIAL.index("[AUDIO]")
    assert [*ours.before, *(audio,) * 375, *ours.after] == theirs


def test_a_tekken_file_gives_marks_merges_and_text(tmp_path: Path) -> None:
    """Merges: 'la', 'ng', 'lang' of them, then ':' as a byte, then 'en'."""
    write_tekken(tmp_path)
    read = Voxtral(family().model, load_tokenizer(tmp_path), family().processor)
    marks = [SPECIAL.index(mark) for mark in ("<s>", "[INST]", "[BEGIN_AUDIO]")]
    after = [SPECIAL.index("[/INST]"), 27 + 258, 27 + ord(":"), 27 + 259]
    prompt = read.prompt(Ask(1.0, language="en"))
    assert list(prompt.before) == marks
    assert list(prompt.after) == [*after, SPECIAL.index("[TRANSCRIBE]")]
    spoken = [27 + byte for byte in "Grüße, 世界!".encode()]
    end = SPECIAL.index("</s>")
    assert read.read([*spoken, end], is_cut=False).segments == (SpokenSegment("Grüße, 世界!"),)


def test_a_folder_loads_and_gives_the_same_tokens(tmp_path: Path) -> None:
    family().model.save_pretrained(tmp_path)
    family().processor.save_pretrained(tmp_path)
    write_tekken(tmp_path)
    loaded = Voxtral.load(tmp_path, dtype=torch.float32, device_map="cpu")
    assert loaded.prompt(Ask(1.0)).before[-1] == SPECIAL.index("[BEGIN_AUDIO]")
    loaded.tokenizer = family().tokenizer  # The marks that may not be put out are its.
    requests = tiny().requests()[:2]
    ours = engine_output(replace(tiny(), family=loaded), requests, slots=2)
    theirs = engine_output(tiny(), requests, slots=2)
    assert {key: done.tokens for key, done in ours.items()} == {
        key: done.tokens for key, done in theirs.items()
    }


def test_a_folder_without_a_tokenizer_is_a_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"has no tekken\.json; fetch the whole model again"):
        load_tokenizer(tmp_path)


def test_a_tokenizer_without_the_mark_of_transcription_is_a_model_error(tmp_path: Path) -> None:
    write_tekken(tmp_path, SPECIAL[:-1])
    with pytest.raises(ModelError, match=r"its tokenizer has no \[TRANSCRIBE\]"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("text", "spoken", "language"),
    [
        ("Well, hello.", "Well, hello.", None),
        (" Well,\nhello. ", "Well,\nhello.", None),
        ("lang:enWell, hello.", "Well, hello.", "en"),
        ("lang:fr Bonjour.", "Bonjour.", "fr"),
        ("lang:de", None, "de"),
        ("a lang:de word", "a lang:de word", None),
        ("lang:EN shouted", "lang:EN shouted", None),
        ("", None, None),
    ],
)
@pytest.mark.parametrize("is_cut", [False, True])
def test_read(text: str, spoken: str | None, language: str | None, is_cut: bool) -> None:
    output = family().read([*ids(text), END], is_cut=is_cut)
    assert output.segments == ((SpokenSegment(spoken),) if spoken else ())
    assert (output.is_whole, output.language, output.unreadable) == (not is_cut, language, "")


def test_marks_in_an_output_are_left_out() -> None:
    output = family().read([*ids("lang:en"), TRANSCRIBE, *ids("Hello."), END], is_cut=False)
    assert (output.segments, output.language) == ((SpokenSegment("Hello."),), "en")


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 263), max_size=40), st.booleans())
def test_read_never_raises(tokens: list[int], is_cut: bool) -> None:
    family().read(tokens, is_cut=is_cut)


def test_tokens_that_end_and_that_may_not_be_put_out() -> None:
    assert family().end_tokens == {END}
    assert family().forbidden_tokens == (AUDIO, AUDIO_BEGIN)
