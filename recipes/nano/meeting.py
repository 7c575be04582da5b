"""Invented meetings: frames of speech, and who says which words when."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nano.language import (
    DIGITS,
    END,
    FRAMES_PER_S,
    MAX_FRAMES,
    ONES_BASE,
    TENS_BASE,
    VOICE_BASE,
    VOICES,
    WIDTH,
    WORD_BASE,
    Frames,
    language,
)

NOISE = 0.5
"""Spread of the noise on every number of every frame."""

LONG_SHARE = 0.2
"""Of the sounds that last two frames instead of one."""

PAUSE_SHARE = 0.1
"""Of the words that a frame of silence follows within a segment."""

MIN_GAP, MAX_GAP = 2, 8
"""Frames of silence between segments; longer than a pause, so that segments can be told."""

MIN_WORDS, MAX_WORDS = 4, 16
"""Of a segment."""

SAME_VOICE_SHARE = 0.2
"""Of the segments whose speaker has also said the one before."""

CODE_DIGITS = 7
CODE_FRAMES = 64
"""More than a code can take: eight words of three sounds of two frames, and pauses."""


@dataclass(frozen=True, slots=True)
class SpokenPart:
    """One speaker's words without a break. `spans`: frames of the chunk that each word takes."""

    voice: int
    words: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]

    @property
    def start(self) -> int:
        """Frame of the chunk where it begins."""
        return self.spans[0][0]

    @property
    def end(self) -> int:
        """Frame of the chunk after its last."""
        return self.spans[-1][1]

    @property
    def tokens(self) -> tuple[int, ...]:
        """Time in whole seconds, speaker, words."""
        second = int(self.start / FRAMES_PER_S)
        return (
            TENS_BASE + second // 10,
            ONES_BASE + second % 10,
            VOICE_BASE + self.voice,
            *(WORD_BASE + word for word in self.words),
        )

    @property
    def token_spans(self) -> tuple[tuple[int, int], ...]:
        """Frames that each token tells of: time and speaker of the first word's."""
        marks = len(self.tokens) - len(self.words)
        return (*(self.spans[0],) * marks, *self.spans)


@dataclass(frozen=True, slots=True)
class Meeting:
    """An excerpt of a chunk.

    Attributes:
        first_frame: frame of the chunk at which the excerpt begins.
        frames: its sound.
        parts: in order; none begins before the one before it has ended.
    """

    first_frame: int
    frames: Frames
    parts: tuple[SpokenPart, ...]

    @property
    def tokens(self) -> tuple[int, ...]:
        """The transcript, with the end token."""
        return (*(token for part in self.parts for token in part.tokens), END)

    @property
    def codes(self) -> tuple[tuple[int, ...], ...]:
        """Digits of each code, in order."""
        code = language().code
        return tuple(part.words[1:] for part in self.parts if part.words[0] == code)


def make_meeting(seed: int, frames: int, *, first_frame: int = 0, codes: int = 0) -> Meeting:
    """An excerpt of so many frames, always the same for the same arguments.

    codes: how many of the parts are the word 'code' and seven digits, at places drawn evenly.
    """
    assert 0 <= first_frame <= first_frame + frames <= MAX_FRAMES, (first_frame, frames)
    assert frames >= CODE_FRAMES * codes, (frames, codes)
    random = np.random.default_rng([seed, frames, first_frame, codes])
    sound = np.zeros((frames, WIDTH), dtype=np.float32)
    places = np.sort(random.integers(0, frames - CODE_FRAMES * codes + 1, size=codes))
    places += CODE_FRAMES * np.arange(codes)
    parts: list[SpokenPart] = []
    voice, at, said_codes = int(random.integers(VOICES)), int(random.integers(MAX_GAP + 1)), 0
    while at < frames:
        if random.random() >= SAME_VOICE_SHARE:
            voice = int((voice + random.integers(1, VOICES)) % VOICES)
        if said_codes < codes and at >= places[said_codes]:
            words, limit = _code(random), frames
            said_codes += 1
        else:
            words, limit = _sentence(random), frames - CODE_FRAMES * (codes - said_codes)
        spans = _say(random, sound, at, limit, voice, words)
        if spans:
            moved = tuple((first_frame + start, first_frame + end) for start, end in spans)
            parts.append(SpokenPart(voice, words[: len(spans)], moved))
            at = spans[-1][1] + int(random.integers(MIN_GAP, MAX_GAP + 1))
        elif said_codes < codes:
            at = int(places[said_codes])
        else:
            break
    sound += np.float32(NOISE) * random.standard_normal(sound.shape, dtype=np.float32)
    return Meeting(first_frame, sound, tuple(parts))


def _code(random: np.random.Generator) -> tuple[int, ...]:
    """No digit twice in a row."""
    digits = [int(random.integers(len(DIGITS)))]
    while len(digits) < CODE_DIGITS:
        digits.append(int((digits[-1] + random.integers(1, len(DIGITS))) % len(DIGITS)))
    return (language().code, *digits)


def _sentence(random: np.random.Generator) -> tuple[int, ...]:
    """Common words by their frequencies, none twice in a row."""
    spoken = language()
    drawn = random.choice(
        len(spoken.frequencies),
        size=random.integers(MIN_WORDS, MAX_WORDS + 1),
        p=spoken.frequencies,
    )
    words = [int(drawn[0])]
    words.extend(int(after) for before, after in pairwise(drawn) if before != after)
    return tuple(spoken.first_common + word for word in words)


def _say(
    random: np.random.Generator,
    sound: Frames,
    at: int,
    limit: int,
    voice: int,
    words: tuple[int, ...],
) -> list[tuple[int, int]]:
    """Write words into the sound from frame `at` on; spans of those that fit before the limit."""
    spoken = language()
    spans: list[tuple[int, int]] = []
    for word in words:
        units = np.repeat(
            spoken.sounds[word], 1 + (random.random(len(spoken.sounds[word])) < LONG_SHARE)
        )
        start = at + int(bool(spans) and random.random() < PAUSE_SHARE)
        at = start + len(units)
        if at > limit:
            break
        sound[start:at] = spoken.vectors[units] + spoken.voices[voice]
        spans.append((start, at))
    return spans
