"""How much of a repetition the audio bears out.

A speaker who repeats himself takes time for each occurrence, and the heads that follow the
audio get on with him. A decoder that has lost the audio repeats itself on the spot, many times
within a second. So the occurrences at the front that last long enough are words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from murmur_cli.asr.whisper.tokens import WhisperTokens
from murmur_cli.asr.whisper.word_alignment import ENTRY_S
from murmur_cli.engine.request import Loop

MIN_TOKEN_S = 0.1
"""Least time that a speaker takes for a token of text, over a whole occurrence. Fast speech has
6 to 7 words a second, about 9 tokens with its punctuation; the loops seen here had 15 and more."""


LONGEST_TOKEN_S = 1.0
"""The alignment lets a token last until the next; a speaker is done with it by then."""

NEAR_S = 0.5
MIN_HEARD_SHARE = 0.15
"""Least share of a token's attention within `NEAR_S` of its place, mean over an occurrence. The
alignment gives every token a place, also to those that listen elsewhere or nowhere: attention
spread over 30 s has 0.05 to 0.07 there, words have 0.6 (median), the worst spoken repetition that
was measured 0.23."""

MIN_MEAN_LOGPROB = -0.5
"""Of each occurrence. The model is sure of words that it hears again: spoken repetitions had -0.36
and more from the first occurrence on; loops over noise and babble began with -0.6 to -1.7."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a repetition is cut.

    Attributes:
        num_tokens: output tokens to keep.
        latest_s: second of the window that they reach at most.
        is_spoken: whether at least half of the occurrences are kept, and more than the first.
    """

    num_tokens: int
    latest_s: float
    is_spoken: bool


def cut_repetition(
    output: Sequence[int],
    logprobs: Sequence[float],
    loop: Loop,
    attention: npt.NDArray[np.float16],
    starts_s: npt.NDArray[np.float64],
    tokens: WhisperTokens,
) -> Cut:
    """Keep the output up to the first repetition, and further as far as it is spoken.

    logprobs, attention: see `Finished`. starts_s: when each token is heard and the end of the
    audio, seconds. The last occurrence is not kept beyond the first: nothing tells where it ends.
    A first occurrence that nobody hears keeps its words but takes no more time than fast speech:
    what follows it may have been said there.
    """
    heard = heard_share(attention, starts_s)
    kept = loop.start + loop.period
    latest_s = starts_s[kept]
    occurrences = 0
    for start in range(loop.start, len(output) - loop.period, loop.period):
        end = start + loop.period
        num_text = sum(not tokens.is_timestamp(token) for token in output[start:end])
        shortest_s = num_text * MIN_TOKEN_S
        is_heard = heard[start:end].mean() >= MIN_HEARD_SHARE
        if start == loop.start and not is_heard:
            (before,) = np.nonzero(heard[:start] >= MIN_HEARD_SHARE)
            lost_s = starts_s[before[-1]] + LONGEST_TOKEN_S if before.size else 0.0
            latest_s = min(latest_s, min(starts_s[start], lost_s) + shortest_s)
        is_sure = np.mean(logprobs[start:end]) >= MIN_MEAN_LOGPROB
        if not (is_heard and is_sure) or starts_s[end] - starts_s[start] < shortest_s:
            break
        occurrences += 1
        kept, latest_s = end, min(starts_s[end], starts_s[end - 1] + LONGEST_TOKEN_S)
    return Cut(kept, float(latest_s), occurrences > 1 and 2 * occurrences >= loop.repeats)


def heard_share(
    attention: npt.NDArray[np.float16], starts_s: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Share of each token's attention that lies where the alignment puts it, 0 to 1."""
    weights = attention.mean(axis=1, dtype=np.float64)
    ends_s = np.minimum(starts_s[1:], starts_s[:-1] + LONGEST_TOKEN_S)
    num_entries = weights.shape[1]
    first = np.clip(np.round((starts_s[:-1] - NEAR_S) / ENTRY_S), 0, num_entries).astype(int)
    last = np.clip(np.round((ends_s + NEAR_S) / ENTRY_S), 0, num_entries).astype(int)
    up_to = np.pad(weights.cumsum(axis=1), ((0, 0), (1, 0)))
    rows = np.arange(len(weights))
    share: npt.NDArray[np.float64] = (up_to[rows, last] - up_to[rows, first]) / np.maximum(
        up_to[:, -1], 1e-9
    )
    return share
