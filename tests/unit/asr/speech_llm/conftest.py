"""What the tests of SpeechLLMs share."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.tiny_speech_llms.vibevoice import write_vibevoice_folder


@pytest.fixture(scope="session")
def vibevoice_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random VibeVoice for real recordings; not to be written to."""
    return write_vibevoice_folder(tmp_path_factory.mktemp("vibevoice"))
