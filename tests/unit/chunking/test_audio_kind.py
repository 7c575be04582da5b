"""Clean or noisy, by arithmetic that can be done by hand."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.chunking.audio_kind import (
    BLOCK_SAMPLES,
    MOST_DB,
    kind_of,
    overlap_share,
    speech_to_noise_db,
)
from murmur_cli.types import LocalTurn, SampleSpan, TimeSpan
from murmur_cli.types.audio_kind import AudioKind


def steps(*parts: tuple[float, float]) -> np.ndarray:
    """(seconds, amplitude) after each other; constant, so that power is the square."""
    return np.concatenate([np.full(round(s * 16_000), a, np.float32) for s, a in parts])


def test_level_when_pauses_are_noisy_then_speech_is_told_without_it() -> None:
    """Pauses 0.01, speech sqrt(0.01² + 0.1²): the speech alone is 0.1, 20 dB above."""
    samples = steps((4.0, 0.01), (4.0, np.hypot(0.01, 0.1)), (4.0, 0.01))
    speech = [SampleSpan(64_000, 128_000)]
    assert speech_to_noise_db(samples, speech) == pytest.approx(20.0, abs=1e-3)


def test_level_when_pauses_are_silent_then_the_most() -> None:
    samples = steps((4.0, 0.0), (4.0, 0.1))
    assert speech_to_noise_db(samples, [SampleSpan(64_000, 128_000)]) == MOST_DB


def test_level_when_speech_is_below_the_pauses_then_the_least() -> None:
    samples = steps((4.0, 0.1), (4.0, 0.01))
    assert speech_to_noise_db(samples, [SampleSpan(64_000, 128_000)]) == -MOST_DB


def test_level_when_there_are_no_pauses_then_the_quietest_blocks_are_the_noise() -> None:
    """5 % of 100 blocks are the 5 of 0.01; the mean of all is 0.95·0.1² + 0.05·0.01² = 0.009505."""
    samples = steps((9.5, 0.1), (0.5, 0.01))
    expected = 10 * np.log10((0.009505 - 0.0001) / 0.0001)
    assert speech_to_noise_db(samples, [SampleSpan(0, len(samples))]) == pytest.approx(
        expected, abs=1e-3
    )


def test_level_when_speech_is_shorter_than_a_block_then_it_is_not_noise() -> None:
    samples = steps((2.0, 0.1))
    span = SampleSpan(BLOCK_SAMPLES + 1, BLOCK_SAMPLES + 100)
    assert speech_to_noise_db(samples, [span]) == MOST_DB


def turn(start_s: float, end_s: float, speaker: int) -> LocalTurn:
    return LocalTurn(TimeSpan(start_s, end_s), speaker)


def test_overlap_when_two_talk_for_a_part_then_its_share_of_talk() -> None:
    """0–6 and 4–10: of ten seconds two; the pause until 20 does not count."""
    turns = [turn(0, 6, 0), turn(4, 10, 1), turn(20, 30, 0)]
    assert overlap_share(turns) == pytest.approx(2 / 20)
    assert overlap_share([]) == 0.0
    assert overlap_share([turn(0, 5, 0), turn(5, 9, 1)]) == 0.0


@pytest.mark.parametrize(
    ("level_db", "overlap", "kind"),
    [
        (15.0, 0.0, AudioKind.CLEAN),
        (14.9, 0.0, AudioKind.NOISY),
        (40.0, 0.099, AudioKind.CLEAN),
        (40.0, 0.1, AudioKind.NOISY),
    ],
)
def test_kind_when_at_the_limits(level_db: float, overlap: float, kind: AudioKind) -> None:
    assert kind_of(level_db, overlap) is kind
