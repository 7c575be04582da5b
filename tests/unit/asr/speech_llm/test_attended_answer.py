"""Times of words from heads whose looks are made up, so that the truth is known."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest

from murmur_cli.asr.speech_llm.answer_text import AnswerText
from murmur_cli.asr.speech_llm.attended_answer import AttendedAnswer
from murmur_cli.engine.speech_peaks import REACH, PeakTrace

ENTRY_S = 0.1
WORDS = 40


def pieces_of(words: list[str]) -> AnswerText:
    """A token for each word."""
    parts = [f" {word}" for word in words]
    return AnswerText("".join(parts), tuple(accumulate(map(len, parts))))


def looks(places: list[int], *, strays: bool = False) -> PeakTrace:
    """Two heads: one that looks at two entries for each token, one anywhere."""
    random = np.random.default_rng(3)
    anywhere = random.integers(0, 4 * len(places), len(places))
    first = anywhere if strays else np.array(places)
    near = np.zeros((len(places), 2, 2 * REACH + 1), np.float32)
    near[:, :, REACH : REACH + 2] = 0.4
    return PeakTrace(
        ((2, 1), (2, 3)),
        np.stack([first, anywhere], axis=1).astype(np.int64),
        np.full((len(places), 2), 0.9, np.float32),
        near,
    )


def answer(
    *, spoken_s: float = 0.0, strays: bool = False, trace: PeakTrace | None = None
) -> AttendedAnswer | None:
    words = [f"word{number}" for number in range(WORDS)]
    seen = looks([4 * number for number in range(WORDS)], strays=strays)
    return AttendedAnswer.of(pieces_of(words), trace or seen, [True] * WORDS, ENTRY_S, spoken_s)


def test_words_when_a_head_follows_then_their_times() -> None:
    attended = answer(spoken_s=16.0)
    assert attended is not None
    assert attended.trace.heads == ((2, 1),)
    heard = attended.words(" ".join(f"word{number}" for number in range(WORDS)), 0.0, 16.0)
    assert heard is not None
    assert [one.word.text for one in heard] == [f"word{number}" for number in range(WORDS)]
    for number, one in enumerate(heard):
        assert one.start_s == pytest.approx(0.4 * number)
        assert one.end_s == pytest.approx(0.4 * (number + 1) if number + 1 < WORDS else 15.8)


def test_words_when_segments_are_asked_for_then_each_within_its_times() -> None:
    attended = answer()
    assert attended is not None
    first = attended.words("word0 word1", 0.0, 0.7)
    second = attended.words("word2 word3", 0.9, 1.6)
    assert first is not None
    assert second is not None
    assert [(one.start_s, one.end_s) for one in first] == [(0.0, 0.4), (0.4, pytest.approx(0.6))]
    assert second[0].start_s == pytest.approx(0.9)  # the model's own start, not 0.8


def test_words_when_heads_looked_elsewhere_then_none() -> None:
    attended = answer()
    assert attended is not None
    assert attended.words("word0 word1", 9.0, 9.8) is None
    assert attended.words("word7 word8", 2.8, 3.6) is not None
    assert attended.words("not said", 3.6, 4.0) is None


@pytest.mark.parametrize("case", ["strays", "nothing watched", "too far", "too short"])
def test_answer_when_nothing_tells_then_none(case: str) -> None:
    if case == "strays":
        assert answer(strays=True) is None
    elif case == "too far":  # 16 s of looks are not all of a minute's speech
        assert answer(spoken_s=60.0) is None
    else:
        text = pieces_of(["a"] * 3)
        trace = looks([0, 4, 8]) if case == "too short" else None
        assert AttendedAnswer.of(text, trace, [True] * 3, ENTRY_S, 0.0) is None


def test_words_of_one_token_then_share_its_time_by_their_letters() -> None:
    """Tokens of two characters of a script without spaces."""
    text = "".join(chr(0x4E00 + number) for number in range(2 * WORDS))
    answer_text = AnswerText(text, tuple(range(2, 2 * WORDS + 1, 2)))
    trace = looks([4 * number for number in range(WORDS)])
    attended = AttendedAnswer.of(answer_text, trace, [True] * WORDS, ENTRY_S, 0.0)
    assert attended is not None
    heard = attended.words(text, 0.0, 16.0)
    assert heard is not None
    assert len(heard) == 2 * WORDS
    assert [one.start_s for one in heard[:4]] == pytest.approx([0.0, 0.2, 0.4, 0.6])
    assert [one.end_s for one in heard[:4]] == pytest.approx([0.2, 0.4, 0.6, 0.8])
