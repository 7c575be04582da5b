"""What '--chunk' means for a recording, and what is said of it."""

from __future__ import annotations

import pytest

from murmur_cli.chunking.auto_size import choose_ceiling
from murmur_cli.settings import FULL_CHUNK_S
from murmur_cli.types.audio_kind import AudioKind, ChunkCurve

HZ = 16_000


def curve(chunk_s: float | None) -> ChunkCurve:
    return ChunkCurve("whisper-base", AudioKind.NOISY, chunk_s, "mine")


@pytest.mark.parametrize(
    ("asked_s", "audio_s", "chosen", "seconds", "rule"),
    [
        (None, 900, curve(120.0), 120.0, "auto: at most 120 s, best for whisper-base on noisy"),
        (None, 60, curve(120.0), 60.0, "by 'mine'"),
        (None, 900, curve(None), 900.0, "auto: the whole recording, best for whisper-base"),
        (None, 900, None, 300.0, "published optimum"),
        (60.0, 900, curve(120.0), 60.0, "at most 60 s, as set"),
        (FULL_CHUNK_S, 900, None, 900.0, "the whole recording, as set"),
    ],
)
def test_ceiling_when_chosen_then_its_length_and_why(
    asked_s: float | None, audio_s: int, chosen: ChunkCurve | None, seconds: float, rule: str
) -> None:
    ceiling = choose_ceiling(asked_s, audio_s * HZ, chosen)
    assert ceiling.samples == seconds * HZ
    assert rule in ceiling.rule
