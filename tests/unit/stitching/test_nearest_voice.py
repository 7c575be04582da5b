"""The search outwards in time finds what a look at all voices finds."""

from __future__ import annotations

import numpy as np

from murmur_cli.stitching.local_voice import LocalVoice
from murmur_cli.stitching.nearest_voice import NearestVoice
from murmur_cli.types import TimeSpan


def _slow(voices: list[LocalVoice], labels: np.ndarray, row: int) -> int | None:
    beside = {int(labels[at]) for at, one in enumerate(voices) if one.heard_beside(voices[row])}
    gaps = [
        (voices[row].gap_s(voices[at]), at)
        for at in range(len(voices))
        if labels[at] >= 0 and int(labels[at]) not in beside
    ]
    return int(labels[min(gaps)[1]]) if gaps else None


def test_nearest_voice_when_turns_are_anywhere_then_as_a_look_at_all_voices() -> None:
    random = np.random.default_rng(1)
    for _ in range(50):
        voices, labels = [], []
        for number in range(12):
            channel = int(random.integers(1, 3))
            starts = random.integers(0, 60, random.integers(1, 4)).tolist()
            turns = tuple(sorted(TimeSpan(at, at + float(random.integers(1, 9))) for at in starts))
            chunk = int(random.integers(0, 4)) * 2 + channel
            voices.append(LocalVoice(chunk, number, 0.0, None, turns, channel=channel))
            # A group is of one channel.
            labels.append(int(random.integers(-1, 3)) * 2 + channel - 1 if number else -1)
        order = sorted(range(12), key=lambda at: voices[at].turns)
        voices = [voices[at] for at in order]
        found = np.array([max(-1, labels[at]) for at in order])
        search = NearestVoice(voices)
        for row in np.flatnonzero(found < 0).tolist():
            assert search.group(found, row) == _slow(voices, found, row)
