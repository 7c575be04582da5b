"""The embedded Whisper base, converted once for all tests here into a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def whisper_base_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that transformers reads; needs the packages of the 'embedded' extra."""
    from murmur_cli.models.embedded_whisper import embedded_whisper

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MURMUR_CACHE", str(tmp_path_factory.mktemp("cache")))
        return embedded_whisper("whisper-base").path
