from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.asr.registry import check_evict, check_request, longest_chunk_s, recogniser_for
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING
from murmur_cli.engine.policies.registry import POLICIES
from murmur_cli.errors import UsageError
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
    check(VIBEVOICE, evict=name)


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
        (WHISPER, {"evict": "output", "evict_options": {"window": "many"}}, "not a value of type"),
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


def test_longest_chunk_when_the_model_is_meant_for_less_then_lowered() -> None:
    gemma = ModelChoice("mine", ModelKind.FOLDER, Path("nowhere"), "a test", "gemma4")
    assert longest_chunk_s(gemma, TranscribeSettings()) == 30.0
    assert longest_chunk_s(gemma, TranscribeSettings(chunk_s=None)) == 30.0
    assert longest_chunk_s(gemma, TranscribeSettings(chunk_s=20.0)) == 20.0
    assert longest_chunk_s(VIBEVOICE, TranscribeSettings(chunk_s=None)) is None
    assert longest_chunk_s(WHISPER, TranscribeSettings(chunk_s=7200.0)) == 7200.0
