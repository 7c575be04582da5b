"""An invented language: how its words sound and which token stands for what.

A word is an onset and one or two codas; each of these sounds has a vector of its own. Codas never
begin a word and onsets never continue one, so a stream of sounds can be cut into words in one
way only. Everything is drawn from one fixed seed: the language never changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

WIDTH = 32
"""Numbers of a frame."""

FRAMES_PER_S = 7.5
MAX_FRAMES = 2250
"""Of a chunk: 300 s."""

SEED = 20_261_130
ONSETS, CODAS = 32, 32
VOICES = 8
VOICE_STRENGTH = 0.6
"""Of a voice's vector beside a sound's, whose numbers have a spread of 1."""

DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
CODE = "code"
COMMON_WORDS = 240

PAD, BEGIN, END, SPEECH, TRANSCRIBE, ANSWER = range(6)
TENS_BASE = 6
"""Token of the tens of seconds 0, 10, …, 290."""
ONES_BASE = TENS_BASE + 30
"""Token of the seconds 0 to 9."""
VOICE_BASE = ONES_BASE + 10
WORD_BASE = VOICE_BASE + VOICES
VOCABULARY = WORD_BASE + len(DIGITS) + 1 + COMMON_WORDS

Frames = npt.NDArray[np.float32]
"""(frames, WIDTH)"""


@dataclass(frozen=True)
class Language:
    """Words, sounds and voices.

    Attributes:
        words: spelling of each word: digits, 'code', then the common ones.
        sounds: of each word, indices of the sounds that it is made of.
        vectors: (ONSETS + CODAS, WIDTH), the sounds.
        voices: (VOICES, WIDTH), what a speaker adds to every sound.
        frequencies: of the common words, in their order.
    """

    words: tuple[str, ...]
    sounds: tuple[tuple[int, ...], ...]
    vectors: Frames
    voices: Frames
    frequencies: npt.NDArray[np.float64]

    @property
    def code(self) -> int:
        """The word that announces seven digits."""
        return len(DIGITS)

    @property
    def first_common(self) -> int:
        """The first common word; the others follow."""
        return len(DIGITS) + 1

    def spell(self, words: Sequence[int]) -> str:
        """Words as text."""
        return " ".join(self.words[word] for word in words)


@cache
def language() -> Language:
    """The one language."""
    random = np.random.default_rng(SEED)
    vectors = random.standard_normal((ONSETS + CODAS, WIDTH)).astype(np.float32)
    voices = (VOICE_STRENGTH * random.standard_normal((VOICES, WIDTH))).astype(np.float32)
    count = len(DIGITS) + 1 + COMMON_WORDS
    sounds: dict[tuple[int, ...], None] = {}
    while len(sounds) < count:
        codas = random.integers(ONSETS, ONSETS + CODAS, size=random.integers(1, 3))
        if len(set(codas.tolist())) == len(codas):
            sounds[(int(random.integers(ONSETS)), *codas.tolist())] = None
    syllables = [onset + vowel for onset in "bdfgklmnprstvz" for vowel in "aeiou"]
    spelled: dict[str, None] = {}
    while len(spelled) < COMMON_WORDS:
        spelled["".join(random.choice(syllables, size=2))] = None
    weights = 1.0 / (np.arange(COMMON_WORDS) + 20.0)
    return Language(
        words=(*DIGITS, CODE, *spelled),
        sounds=tuple(sounds),
        vectors=vectors,
        voices=voices,
        frequencies=weights / weights.sum(),
    )
