from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.asr.registry import (
    check_evict,
    check_request,
    check_takes_head_shares,
    longest_chunk_s,
    recogniser_for,
    takes_budget,
)
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING
from murmur_cli.engine.policies.registry import POLICIES, RETRIEVAL
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import TranscribeSettings

WHISPER = ModelChoice("mine", ModelKind.FOLDER, Path("nowhere"), "a test")
VIBEVOICE = ModelChoice("mine", ModelKind.FOLDER, Path("nowhere"), "a test", "vibevoice_asr")


def check(choice: ModelChoice, **settings: object) -> None:
    check_request(choice, TranscribeSettings(**settings))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "streaming"])
def test_check_when_policy_suits_whisper_then_accepted(name: str) -> None:
    check(WHISPER, evict=name)


@pytest.mark.parametrize("name", [name for name in POLICIES if not name.startswith("align")])
def test_check_when_policy_suits_a_speech_llm_then_accepted(name: str) -> None:
    # The first stage of voxzip looks for its own recogniser.
    options = {"stages": "2"} if name.startswith("voxzip") else {}
    check(VIBEVOICE, evict=name, evict_options=options)


@pytest.mark.parametrize(
    ("choice", "settings", "message"),
    [
        (WHISPER, {"evict": "speach"}, "unknown policy .did you mean speech"),
        (
            WHISPER,
            {"evict": "C3R"},
            r"--evict C3R: unknown policy \(did you mean c3r\?\); known: none",
        ),
        (VIBEVOICE, {"evict": "c3rr"}, r"--evict c3rr: unknown policy \(did you mean c3r\?\)"),
        (WHISPER, {"evict_options": {"window": "3"}}, "has no such option"),
        (WHISPER, {"evict": "both", "evict_options": {"window": "3"}}, "write speech_window or"),
        (
            WHISPER,
            {"evict": "output", "evict_options": {"window": "many"}},
            "window=many: give a whole number",
        ),
        (WHISPER, {"evict": "output", "evict_options": {"window": "0"}}, "give 1 or more"),
        (WHISPER, {"evict": "streaming"}, "no order of recency; use output, speech or align"),
        (VIBEVOICE, {"evict": "align"}, "no heads of this model are known to follow"),
        (VIBEVOICE, {"task": "translate"}, "VibeVoice-ASR knows transcribe"),
        (VIBEVOICE, {"language": "en"}, "finds the language itself; leave it out"),
        (VIBEVOICE, {"chunk_s": 7200.0}, "meant for at most 3600 seconds"),
    ],
)
def test_check_when_wrong_then_usage_error(
    choice: ModelChoice, settings: dict[str, object], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check(choice, **settings)


def test_check_when_context_and_model_takes_it_then_accepted() -> None:
    check(VIBEVOICE, context="Murmur, VoxZip")


def test_check_evict_when_name_is_unknown_then_usage_error() -> None:
    with pytest.raises(UsageError, match=r"unknown policy \(did you mean speech\?\)"):
        check_evict(TranscribeSettings(evict="Speach"))
    with pytest.raises(UsageError, match="--evict xyz: unknown policy; known: none, output"):
        check_evict(TranscribeSettings(evict="xyz"))


def test_recogniser_when_whisper_then_windows_else_whole_chunks() -> None:
    settings, progress = TranscribeSettings(), SilentProgress()
    assert recogniser_for(WHISPER, settings, "cpu", progress).packing == WHISPER_PACKING
    assert recogniser_for(VIBEVOICE, settings, "cpu", progress).packing is None


def whisper_of(folder: Path, config: str) -> ModelChoice:
    (folder / "config.json").write_text(config, encoding="utf-8")
    return ModelChoice("mine", ModelKind.FOLDER, folder, "a test")


def test_check_when_shares_are_those_of_the_whisper_then_accepted(tmp_path: Path) -> None:
    model = whisper_of(tmp_path, '{"decoder_layers": 2, "decoder_attention_heads": 3}')
    check(model, evict="c3r+output", kv_budget="0.1,0.2,0.3;0.4,0.5,0.6")
    check(model, evict="speech")
    check(model, evict="c3r", kv_budget="0.1")


@pytest.mark.parametrize("shares", ["0.1;0.2", "0.1,0.2,0.3", "0.1,0.2;0.3,0.4", ";0.1,0.2,0.3"])
def test_check_when_shares_are_of_another_model_then_usage_error(
    shares: str, tmp_path: Path
) -> None:
    model = whisper_of(tmp_path, '{"decoder_layers": 2, "decoder_attention_heads": 3}')
    with pytest.raises(UsageError, match="and the model has 2 layers of 3 KV heads; run 'murmur"):
        check(model, evict="c3r", kv_budget=shares)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "config.json: does not say how many decoder layers"),
        ("[]", "config.json: does not say how many decoder layers"),
        ('{"decoder_layers": 2}', "KeyError: 'decoder_attention_heads'"),
        ('{"decoder_layers": 0, "decoder_attention_heads": "x"}', "has 0 decoder layers of x head"),
    ],
)
def test_check_when_the_configuration_tells_no_heads_then_model_error(
    config: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=message):
        check(whisper_of(tmp_path, config), evict="c3r", kv_budget="0.1;0.2")


def test_takes_budget_when_nothing_would_read_it_then_false() -> None:
    def takes(choice: ModelChoice, evict: str, **options: str) -> bool:
        return takes_budget(choice, TranscribeSettings(evict=evict, evict_options=options))

    assert takes(WHISPER, "c3r")
    assert takes(WHISPER, "pyramidkv+output", speech_window="3")
    assert takes(VIBEVOICE, "voxzip")
    assert not takes(VIBEVOICE, "voxzip", stages="1")
    assert not takes(WHISPER, "output")
    assert not takes(WHISPER, "none")
    assert not takes(WHISPER, "c3rr")
    assert not takes(WHISPER, "c3r", colour="red")


@pytest.mark.parametrize("evict", ["pyramidkv", "pyramidkv+output", "none", "both"])
@pytest.mark.parametrize("choice", [WHISPER, VIBEVOICE], ids=["whisper", "speech_llm"])
def test_head_shares_when_a_policy_takes_none_then_those_that_do_are_named(
    choice: ModelChoice, evict: str
) -> None:
    with pytest.raises(UsageError) as refused:
        check_takes_head_shares(choice, TranscribeSettings(evict=evict))
    named = str(refused.value).rpartition("give one of ")[2].split(", ")
    assert set(named) == {name for name in RETRIEVAL if name != "pyramidkv"}
    for name in named:
        check_takes_head_shares(choice, TranscribeSettings(evict=name))


def test_longest_chunk_when_the_model_is_meant_for_less_then_lowered() -> None:
    gemma = ModelChoice("mine", ModelKind.FOLDER, Path("nowhere"), "a test", "gemma4")
    assert longest_chunk_s(gemma, TranscribeSettings()) == 30.0
    assert longest_chunk_s(gemma, TranscribeSettings(chunk_s=None)) == 30.0
    assert longest_chunk_s(gemma, TranscribeSettings(chunk_s=20.0)) == 20.0
    assert longest_chunk_s(VIBEVOICE, TranscribeSettings(chunk_s=None)) is None
    assert longest_chunk_s(WHISPER, TranscribeSettings(chunk_s=7200.0)) == 7200.0
