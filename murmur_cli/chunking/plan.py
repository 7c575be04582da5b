"""Speech -> the chunks of a recording and the windows in them.

Windows are chosen first, over the whole recording, and chunks are made of whole windows: the
size of a chunk then says what is worked on together, and does not change the words, as long as
a chunk can hold a window.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from murmur_cli.chunking.auto_size import choose_ceiling
from murmur_cli.chunking.cut_points import cut_long_span
from murmur_cli.chunking.partition import best_partition
from murmur_cli.chunking.windows import WindowLimits, pack_windows
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import Chunk, ChunkPlan, PackingRule, SampleSource, SampleSpan, Window
from murmur_cli.types.audio_kind import ChunkCurve

SHORT_GAP_COST = 0.5
LONG_GAP_SAMPLES = 3 * SAMPLE_RATE_HZ
"""Chunks prefer silences of this length and more for their borders."""


def plan_chunks(
    speech: Sequence[SampleSpan],
    samples: SampleSource,
    *,
    max_chunk_s: float | None,
    packing: PackingRule | None,
    curve: ChunkCurve | None = None,
) -> ChunkPlan:
    """Divide the speech into windows and the windows into chunks.

    Every sample of speech is in exactly one window and one chunk. A chunk, from its first to
    its last sample, is at most `max_chunk_s` long; there are as few chunks as that allows, of
    even length, with their borders in long silences. None takes the ceiling of `curve`, else
    chooses it by rule.

    With `packing`, windows keep its limits, and do not depend on the ceiling unless that is
    under `packing.max_span_s`. Without, each chunk is one window that hears all of it.

    speech: in order, apart or touching, within `samples`. samples: (samples,) float32.
    """
    ceiling = choose_ceiling(max_chunk_s, len(samples), curve)
    if not speech:
        return ChunkPlan((), ceiling.seconds, ceiling.rule)
    if packing is None:
        parts = _cut_to(speech, samples, ceiling.samples)
        groups = _group(parts, ceiling.samples)
        chunked = [_whole(parts[first : last + 1]) for first, last in groups]
    else:
        limits = _limits(packing, ceiling.samples)
        parts = _cut_to(speech, samples, min(limits.max_window_samples, limits.max_span_samples))
        packed = pack_windows(parts, limits)
        groups = _group([window.span for window in packed], ceiling.samples)
        chunked = [packed[first : last + 1] for first, last in groups]
    chunks = tuple(
        Chunk(index, SampleSpan(windows[0].span.start, windows[-1].span.end), windows)
        for index, windows in enumerate(chunked)
    )
    return ChunkPlan(chunks, ceiling.seconds, ceiling.rule)


def _cut_to(
    speech: Sequence[SampleSpan], samples: SampleSource, max_samples: int
) -> list[SampleSpan]:
    return [piece for span in speech for piece in cut_long_span(samples, span, max_samples)]


def _limits(packing: PackingRule, max_chunk_samples: int) -> WindowLimits:
    return WindowLimits(
        max_window_samples=min(_whole_samples(packing.max_window_s), max_chunk_samples),
        max_span_samples=min(_whole_samples(packing.max_span_s), max_chunk_samples),
        max_gap_samples=_whole_samples(packing.max_gap_s),
    )


def _whole_samples(seconds: float) -> int:
    """Rounded down: these are ceilings."""
    return math.floor(seconds * SAMPLE_RATE_HZ)


def _whole(speech: Sequence[SampleSpan]) -> tuple[Window, ...]:
    """The one window of a chunk that is heard as it is."""
    span = SampleSpan(speech[0].start, speech[-1].end)
    return (Window(span, tuple(speech), (span,)),)


def _group(spans: Sequence[SampleSpan], max_samples: int) -> list[tuple[int, int]]:
    """Fewest groups of neighbours that keep the ceiling; then even, then at long silences."""
    starts = np.array([span.start for span in spans])
    ends = np.array([span.end for span in spans])
    earliest = np.searchsorted(starts, ends - max_samples).astype(np.int64)
    target = _even_length(starts, ends, max_samples)
    gaps = starts[1:] - ends[:-1]
    cut_costs = np.append(SHORT_GAP_COST * np.maximum(0.0, 1.0 - gaps / LONG_GAP_SAMPLES), 0.0)
    # More than all groups together can save by being even and well cut.
    group_cost = 4.0 * len(spans)

    def costs(first: int, last: int) -> npt.NDArray[np.float64]:
        uneven = (ends[last] - starts[first : last + 1] - target) / max_samples
        total: npt.NDArray[np.float64] = group_cost + cut_costs[last] + uneven * uneven
        return total

    return best_partition(earliest, costs)


def _even_length(
    starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64], max_samples: int
) -> float:
    """Length of a group if the fewest possible groups shared the recording evenly."""
    groups, first = 0, 0
    while first < len(starts):
        first = int(np.searchsorted(ends, starts[first] + max_samples, side="right"))
        groups += 1
    return float(ends[-1] - starts[0]) / groups
