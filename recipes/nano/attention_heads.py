"""Which heads of the model look where the word is that they help to write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
import numpy.typing as npt

from nano.decoding import decode
from nano.family import Nano
from nano.meeting import Meeting

NEAR = 2
"""Frames beside a word that still count as looking at it."""


@dataclass(frozen=True, slots=True)
class HeadView:
    """A head's probabilities while words are written, means over words.

    Attributes:
        on_speech: share on the whole speech region; the rest is on marks and output.
        on_word: share on the frames of the word and NEAR frames beside.
        peak_on_word: share of the words at which its strongest frame of speech is one of these.
    """

    layer: int
    head: int
    on_speech: float
    on_word: float
    peak_on_word: float


class AllHeads(Nano):
    """Nano whose every head is watched."""

    @property
    def probe_heads(self) -> tuple[tuple[int, int], ...]:
        """All, layer by layer."""
        config = self.text_config
        return tuple(
            (layer, head)
            for layer in range(config.num_hidden_layers)
            for head in range(config.num_attention_heads)
        )


def head_views(nano: AllHeads, meetings: list[Meeting]) -> tuple[HeadView, ...]:
    """Of every head, over the words that the model gets right, by the share of peaks on them."""
    shares = []
    for meeting, finished in zip(meetings, decode(nano, meetings), strict=True):
        assert finished.attention is not None
        for place, (start, end) in words_heard(meeting, finished.tokens):
            seen = finished.attention[place].astype(np.float64)
            near = slice(max(0, start - NEAR), end + NEAR)
            peak = seen.argmax(axis=1)
            on_word = (peak >= near.start) & (peak < near.stop)
            shares.append(np.stack([seen.sum(axis=1), seen[:, near].sum(axis=1), on_word]))
    means = np.mean(shares, axis=0)
    views = [
        HeadView(layer, head, *(float(value) for value in means[:, number]))
        for number, (layer, head) in enumerate(nano.probe_heads)
    ]
    return tuple(sorted(views, key=lambda view: -view.peak_on_word))


def words_heard(meeting: Meeting, output: tuple[int, ...]) -> Iterator[tuple[int, tuple[int, int]]]:
    """(place in the output, frames) of each word that stands where it should."""
    spans: list[tuple[int, int] | None] = []
    for part in meeting.parts:
        spans.extend([None] * (len(part.tokens) - len(part.words)))
        spans.extend(part.spans)
    matcher = SequenceMatcher(None, meeting.tokens[:-1], output, autojunk=False)
    for block in matcher.get_matching_blocks():
        for step in range(block.size):
            span = spans[block.a + step]
            if span is not None:
                yield block.b + step, span


def speech_view(nano: AllHeads, meeting: Meeting) -> npt.NDArray[np.float32]:
    """(heads, tokens, frames): each head's probabilities over a decoded meeting."""
    finished = decode(nano, [meeting])[0]
    assert finished.attention is not None
    return finished.attention.astype(np.float32).transpose(1, 0, 2)
