"""The pipeline in the hub's cache, made of files without content."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models import pyannote_weights as module
from murmur_cli.models.pyannote_weights import PARTS, pyannote_weights

CURE = "murmur models pull pyannote.*--diarizer embedded"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A whole pipeline; file n holds n bytes."""
    for number, part in enumerate(PARTS):
        path = tmp_path / part
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"x" * number)
    monkeypatch.setattr(module, "cached_snapshot", lambda repository: tmp_path)
    return tmp_path


def test_weights_when_all_parts_are_there_then_their_hash_is_recorded(folder: Path) -> None:
    found = pyannote_weights()
    assert found.path == folder
    assert found.identity.sha256 == hashlib.sha256(b"x" * 10).hexdigest()
    assert found.identity.source.startswith("hub pyannote/speaker-diarization-community-1@")


def test_weights_when_a_part_is_missing_then_it_is_named(folder: Path) -> None:
    (folder / "plda/plda.npz").unlink()
    with pytest.raises(ModelError, match=rf"lacks plda/plda\.npz; .*{CURE}"):
        pyannote_weights()


def test_weights_when_not_in_the_cache_then_cure_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "cached_snapshot", lambda repository: None)
    with pytest.raises(ModelError, match=f"not in the hub's cache; .*{CURE}"):
        pyannote_weights()
