from __future__ import annotations

import pytest

from murmur_cli.asr.whisper.segments import TimedText, split_by_timestamps
from support.tiny_whisper import TIMES_BEGIN, tiny_tokens

TINY = tiny_tokens()


def t(step: int) -> int:
    """The token of a time in steps of 20 ms."""
    return TIMES_BEGIN + step


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ([], ()),
        ([t(0)], ()),
        ([t(0), 1, 2, t(50)], (TimedText(0.0, 1.0, (1, 2)),)),
        ([t(0), 1, t(50), t(60), 2, t(75)], (TimedText(0, 1, (1,)), TimedText(1.2, 1.5, (4,)))),
        ([t(0), 1, t(50), t(60), 2], (TimedText(0, 1, (1,)), TimedText(1.2, None, (4,)))),
        ([t(0), 1, t(50), t(50)], (TimedText(0, 1, (1,)),)),
        ([1, 2, t(10)], (TimedText(0.0, 0.2, (0, 1)),)),
        # No start of its own: it begins where the last one ended.
        ([t(0), 1, t(50), 2, t(75)], (TimedText(0, 1, (1,)), TimedText(1.0, 1.5, (3,)))),
        # The rules forbid times that go back; an end before its start is no length.
        ([t(50), 1, t(20)], (TimedText(1.0, 1.0, (1,)),)),
    ],
)
def test_split_when_output_is_given_then_stretches(
    output: list[int], wanted: tuple[TimedText, ...]
) -> None:
    found = split_by_timestamps(output, TINY)
    assert [s.places for s in found] == [s.places for s in wanted]
    assert [s.start_s for s in found] == pytest.approx([s.start_s for s in wanted])
    assert [s.end_s for s in found] == pytest.approx([s.end_s for s in wanted])
