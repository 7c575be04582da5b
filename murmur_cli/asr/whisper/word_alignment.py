"""When each token was spoken, from the cross-attention of the heads that follow the audio.

Source: Whisper's word timestamps (openai/whisper, `timing.py`): per head, probabilities are
standardised over the tokens, smoothed by a median over 7 frames, averaged over the heads;
dynamic time warping then gives each token its first frame. Unlike there, the attention was
recorded while decoding, so no second pass is needed, and the timestamp tokens take part: they
absorb the silences around the text.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.ndimage import median_filter

ENTRY_S = 0.02
"""Seconds of audio behind one entry of the speech region."""

MEDIAN_ENTRIES = 7


def token_starts_s(attention: npt.NDArray[np.float16], audio_s: float) -> npt.NDArray[np.float64]:
    """First time of each token in seconds of the window, then the end of the audio.

    attention: (tokens, heads, entries), see `Finished.attention`. Result: (tokens + 1,),
    non-decreasing, within [0, audio_s].
    """
    tokens = attention.shape[0]
    entries = max(1, min(attention.shape[2], round(audio_s / ENTRY_S)))
    weights = attention[:, :, :entries].astype(np.float32)
    spread = weights.std(axis=0, keepdims=True)
    weights = (weights - weights.mean(axis=0, keepdims=True)) / np.maximum(spread, 1e-6)
    weights = median_filter(weights, size=(1, 1, MEDIAN_ENTRIES), mode="reflect")
    first = first_frames(-weights.mean(axis=1))
    starts = np.append(first * ENTRY_S, audio_s)
    assert len(starts) == tokens + 1
    clipped: npt.NDArray[np.float64] = np.minimum(starts, audio_s)
    return clipped


def first_frames(cost: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """First frame of each token on the cheapest monotone path. cost: (tokens, frames).

    The path runs from (0, 0) to the last cell by steps of one token, one frame, or both.
    Cells are filled along anti-diagonals, where none depends on another.
    """
    tokens, frames = cost.shape
    total = np.full((tokens + 1, frames + 1), np.inf)
    total[0, 0] = 0.0
    for diagonal in range(2, tokens + frames + 1):
        low, high = max(1, diagonal - frames), min(tokens, diagonal - 1)
        i = np.arange(low, high + 1)
        j = diagonal - i
        best = np.minimum(np.minimum(total[i - 1, j - 1], total[i - 1, j]), total[i, j - 1])
        total[i, j] = cost[i - 1, j - 1] + best
    first = np.zeros(tokens, dtype=np.int64)
    i, j = tokens, frames
    while i > 0:
        first[i - 1] = j - 1
        steps = (total[i - 1, j - 1], total[i - 1, j], total[i, j - 1])
        choice = int(np.argmin(steps))
        if choice == 0:
            i, j = i - 1, j - 1
        elif choice == 1:
            i -= 1
        else:
            j -= 1
    return first
