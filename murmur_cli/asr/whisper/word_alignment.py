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
import torch

from murmur_cli.asr.monotone_path import first_frames
from murmur_cli.asr.whisper.median_of_seven import median_of_seven

ENTRY_S = 0.02
"""Seconds of audio behind one entry of the speech region."""


def token_starts_s(attention: npt.NDArray[np.float16], audio_s: float) -> npt.NDArray[np.float64]:
    """First time of each token in seconds of the window, then the end of the audio.

    attention: (tokens, heads, entries), see `Finished.attention`. Result: (tokens + 1,),
    non-decreasing, within [0, audio_s].
    """
    tokens = attention.shape[0]
    entries = max(1, min(attention.shape[2], round(audio_s / ENTRY_S)))
    # torch widens float16 seven times as fast as numpy
    weights = torch.from_numpy(attention[:, :, :entries]).float().numpy()
    spread = np.maximum(weights.std(axis=0), 1e-6)
    weights -= weights.mean(axis=0)
    weights /= spread
    smooth = median_of_seven(weights.reshape(-1, entries)).reshape(weights.shape)
    first = first_frames(-smooth.mean(axis=1))
    starts = np.append(first * ENTRY_S, audio_s)
    assert len(starts) == tokens + 1
    clipped: npt.NDArray[np.float64] = np.minimum(starts, audio_s)
    return clipped
