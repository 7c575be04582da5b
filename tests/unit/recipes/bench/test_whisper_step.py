"""The measurement of a Whisper step on the tiny model: it works, whatever its figures say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from murmur_cli.asr.whisper.decoder import WhisperDecoder
from murmur_cli.bench.engine_setting import parse_settings
from support.tiny_whisper import ENTRIES, PROMPT, tiny_tokens, tiny_whisper

SCRIPT = Path(__file__).parents[4] / "recipes/bench/whisper_step.py"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("whisper_step", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    monkeypatch.setitem(sys.modules, "whisper_step", module)
    spec.loader.exec_module(module)
    return module


def test_policies_when_measured_then_each_reads_what_it_may(script: ModuleType) -> None:
    decoder = WhisperDecoder(tiny_whisper(), tiny_tokens())
    encoded = torch.randn(2, ENTRIES, 32)
    settings = parse_settings("c3,quest", ["c3.budget=20", "quest.budget=1.0"])
    none, c3, quest = script.measure(decoder, PROMPT, settings, encoded, 3)
    assert (none.setting, c3.setting, quest.setting) == ("none", "c3 budget=20", "quest budget=1.0")
    assert (none.read, c3.read, quest.read) == (ENTRIES, 20, ENTRIES)
    assert none.build_s == 0
    assert all(found.processor_ms >= found.speech_ms > 0 for found in (none, c3, quest))
