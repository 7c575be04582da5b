"""More voices than are compared each with each."""

from __future__ import annotations

import tracemalloc

import numpy as np

from murmur_cli.stitching.local_voice import LocalVoice
from murmur_cli.stitching.many_voices import group_many
from murmur_cli.types import TimeSpan
from support.voices import person


def _voice(chunk: int, number: int, seed: int = 0, channel: int | None = None) -> LocalVoice:
    span = TimeSpan(float(chunk), chunk + 0.5)
    return LocalVoice(chunk, number, 2.0, person(number, 0.3, seed), (span,), channel=channel)


def _group(voices: list[LocalVoice], max_together: int) -> list[int]:
    groups = group_many(voices, threshold=0.5, minimum=1, maximum=None, max_together=max_together)
    return [int(group) for group in groups]


def test_group_many_when_above_the_limit_then_as_all_together() -> None:
    people = np.random.default_rng(0).integers(0, 5, 200).tolist()
    voices = [_voice(chunk, number, chunk) for chunk, number in enumerate(people)]
    first = {number: rank for rank, number in enumerate(dict.fromkeys(people))}
    expected = [first[number] for number in people]
    assert _group(voices, 1000) == expected
    assert _group(voices, 16) == expected


def test_group_many_when_voices_of_a_chunk_are_alike_then_apart_through_all_levels() -> None:
    # Two like voices in the last chunk, which the groups of earlier stretches may not join.
    voices = [_voice(chunk, 0, chunk) for chunk in range(40)]
    voices += [_voice(40, 0, 100), _voice(40, 0, 101)]
    groups = _group(voices, 8)
    assert groups[40] != groups[41]
    assert len(set(groups)) == 2


def test_group_many_when_channels_differ_then_the_same_voice_is_two_people() -> None:
    voices = [_voice(chunk, 0, chunk, channel=1 + chunk % 2) for chunk in range(40)]
    for limit in (8, 1000):
        assert _group(voices, limit) == [0, 1] * 20


def test_group_many_when_nothing_may_be_joined_then_it_ends() -> None:
    voices = [
        LocalVoice(0, number, 1.0, person(0), (TimeSpan(number, number + 1.0),))
        for number in range(20)
    ]
    assert _group(voices, 4) == list(range(20))


def test_group_many_when_voices_are_many_then_memory_is_that_of_the_limit() -> None:
    # 6,000 voices compared each with each would take 288 MB for one table.
    voices = [_voice(chunk, chunk % 7, chunk) for chunk in range(6000)]
    tracemalloc.start()
    groups = _group(voices, 256)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(set(groups)) == 7
    assert peak < 30e6
