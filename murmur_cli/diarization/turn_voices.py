"""What is known of the voice of each turn by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.embedding import unit_length
from murmur_cli.diarization.frame_grid import FRAME_S
from murmur_cli.types import Embedding


def voices_of_spans(
    pieces: Sequence[Piece],
    embeddings: Sequence[Embedding | None],
    mask: npt.NDArray[np.bool_],
    spans: Sequence[tuple[int, int]],
) -> list[tuple[float, Embedding | None]]:
    """Clean seconds and mean embedding of each span, from the frames of pieces inside it.

    Args:
        pieces: of a chunk.
        embeddings: of each piece.
        mask: (pieces,), those of the voice whose turns the spans are.
        spans: half-open ranges of frames, ascending and apart.
    """
    starts, ends = (np.array(side, dtype=np.int64) for side in zip(*spans, strict=True))
    seconds = np.zeros(len(spans))
    sums: list[Embedding | None] = [None] * len(spans)
    for row in np.flatnonzero(mask).tolist():
        vector, frames = embeddings[row], pieces[row].frames
        if vector is None:
            continue
        place = np.searchsorted(starts, frames, side="right") - 1
        inside = (place >= 0) & (frames < ends[place])
        for at, count in zip(*np.unique(place[inside], return_counts=True), strict=True):
            length_s = float(count) * FRAME_S
            seconds[at] += length_s
            before = sums[at]
            weighted: Embedding = np.float32(length_s) * vector
            sums[at] = weighted if before is None else before + weighted
    return [
        (float(length_s), None if total is None else unit_length(total))
        for length_s, total in zip(seconds, sums, strict=True)
    ]
