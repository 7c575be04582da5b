"""Speech without words, worked out by hand: a word lasts at most 0.6 s + 0.15 s a character."""

from __future__ import annotations

import pytest

from murmur_cli.asr.whisper.unheard_speech import unheard_speech
from murmur_cli.types import SampleSpan, TimeSpan, Word


def spans(*seconds: tuple[float, float]) -> tuple[SampleSpan, ...]:
    return tuple(SampleSpan(round(s * 16_000), round(e * 16_000)) for s, e in seconds)


def word(text: str, start_s: float, end_s: float) -> Word:
    return Word(text, TimeSpan(start_s, end_s))


@pytest.mark.parametrize(
    ("words", "unheard"),
    [
        # 'and' may last 1.05 s, half a second of pause is its own: 1.55 to 10 is unheard.
        ([word("and", 0.0, 10.0)], [(1.55, 10.0)]),
        # Two words with 3.9 s between them, of which 0.5 s on each side is theirs: too short.
        ([word("one", 0.0, 1.0), word("two", 4.9, 10.0)], [(6.45, 10.0)]),
        ([word("one", 0.0, 1.0), word("two", 5.1, 6.0), word("six", 9.0, 10.0)], [(1.5, 4.6)]),
        ([], [(0.0, 10.0)]),
        ([word("x", k * 2.0, k * 2.0 + 0.3) for k in range(5)], []),
    ],
)
def test_unheard_when_words_leave_room_then_the_room(
    words: list[Word], unheard: list[tuple[float, float]]
) -> None:
    assert unheard_speech(spans((0.0, 10.0)), words) == spans(*unheard)


def test_unheard_when_there_is_no_speech_between_words_then_nothing() -> None:
    speech = spans((0.0, 2.0), (20.0, 22.0))
    assert unheard_speech(speech, [word("one", 0.5, 1.0), word("two", 20.5, 21.0)]) == ()


def test_unheard_when_a_long_word_covers_it_then_still_heard() -> None:
    # The longer word of two that start together counts, whatever their order.
    speech = spans((0.0, 5.0))
    assert unheard_speech(speech, [word("I", 0.0, 0.2), word("a" * 40, 0.0, 5.0)]) == ()


def test_unheard_when_part_of_it_is_on_record_then_the_other_part() -> None:
    # 'and' is over at 1.55; 5 to 10 is known: 1.55 to 5 is left.
    found = unheard_speech(spans((0.0, 10.0)), [word("and", 0.0, 10.0)], [TimeSpan(5.0, 10.0)])
    assert found == spans((1.55, 5.0))
