"""Invented meetings can be read back from their own frames."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nano.language import (
    DIGITS,
    END,
    MAX_FRAMES,
    ONES_BASE,
    ONSETS,
    TENS_BASE,
    VOICE_BASE,
    WORD_BASE,
    language,
)
from nano.meeting import CODE_DIGITS, CODE_FRAMES, MIN_GAP, SpokenPart, make_meeting


def test_words_when_sounds_are_run_together_then_only_one_reading() -> None:
    spoken = language()
    assert len(set(spoken.words)) == len(spoken.words) == len(spoken.sounds)
    assert len(set(spoken.sounds)) == len(spoken.sounds)
    for onset, *codas in spoken.sounds:
        assert onset < ONSETS <= min(codas)
        assert all(before != after for before, after in pairwise(codas))


def test_tokens_of_a_part_then_time_voice_words() -> None:
    """Frame 754 is at 100.53 s."""
    part = SpokenPart(voice=3, words=(11, 0), spans=((754, 757), (758, 760)))
    assert part.tokens == (
        TENS_BASE + 10,
        ONES_BASE + 0,
        VOICE_BASE + 3,
        WORD_BASE + 11,
        WORD_BASE + 0,
    )


def test_meeting_when_made_again_then_the_same() -> None:
    first, again = make_meeting(5, 300, codes=1), make_meeting(5, 300, codes=1)
    np.testing.assert_array_equal(first.frames, again.frames)
    assert first.parts == again.parts
    assert make_meeting(6, 300, codes=1).tokens != first.tokens


@pytest.mark.parametrize("seed", range(5))
def test_frames_when_matched_with_sounds_then_spell_the_words(seed: int) -> None:
    """Nearest sound of each frame, the voice taken off; a sound may last two frames."""
    meeting = make_meeting(seed, 400, first_frame=700)
    spoken = language()
    assert meeting.tokens[-1] == END
    for part in meeting.parts:
        for word, (start, end) in zip(part.words, part.spans, strict=True):
            heard = meeting.frames[start - 700 : end - 700] - spoken.voices[part.voice]
            apart = np.square(heard[:, None] - spoken.vectors[None]).sum(axis=2)
            sounds = apart.argmin(axis=1)
            kept = [int(sounds[0])]
            kept.extend(int(now) for before, now in pairwise(sounds) if before != now)
            assert tuple(kept) == spoken.sounds[word]


@pytest.mark.parametrize("seed", range(5))
def test_parts_then_in_order_with_silence_between(seed: int) -> None:
    meeting = make_meeting(seed, MAX_FRAMES, codes=3)
    for before, after in pairwise(meeting.parts):
        assert before.end + MIN_GAP <= after.start
    silent = np.ones(MAX_FRAMES, dtype=bool)
    for part in meeting.parts:
        silent[part.start : part.end] = False
    assert np.abs(meeting.frames[silent]).mean() < 0.5 < np.abs(meeting.frames[~silent]).mean()


@pytest.mark.parametrize(("frames", "codes"), [(CODE_FRAMES, 1), (200, 3), (MAX_FRAMES, 3)])
def test_codes_when_asked_for_then_so_many_of_seven_digits(frames: int, codes: int) -> None:
    for seed in range(10):
        found = make_meeting(seed, frames, codes=codes).codes
        assert len(found) == codes
        for code in found:
            assert len(code) == CODE_DIGITS
            assert max(code) < len(DIGITS)
            assert all(before != after for before, after in pairwise(code))
