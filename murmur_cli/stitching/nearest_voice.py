"""Who talks nearest in time to a voice that cannot be compared."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import accumulate

from murmur_cli.stitching.local_voice import LocalVoice
from murmur_cli.voice_clustering import Labels


class NearestVoice:
    """Voices in order of their first turn, searched outwards from one of them."""

    def __init__(self, voices: Sequence[LocalVoice]) -> None:
        """Keep the voices, as `collect_voices` gives them."""
        self._voices = voices
        self._latest_end_s = list(accumulate((voice.span.end_s for voice in voices), max))
        self._heard_in: dict[tuple[int, int], list[int]] = defaultdict(list)
        for row, voice in enumerate(voices):
            self._heard_in[voice.heard_in].append(row)

    def group(self, labels: Labels, row: int) -> int | None:
        """Group that talks nearest to a voice and has none that is known to be another person.

        None if there is none. Of voices equally near the first in time decides.
        """
        beside = {int(labels[other]) for other in self._heard_in[self._voices[row].heard_in]}
        best = min(
            self._nearest(labels, row, beside, range(row - 1, -1, -1)),
            self._nearest(labels, row, beside, range(row + 1, len(labels))),
        )
        return int(labels[best[1]]) if best[1] >= 0 else None

    def _nearest(
        self, labels: Labels, row: int, beside: set[int], others: range
    ) -> tuple[float, int]:
        """Gap and row of the nearest voice among others that lie ever further away."""
        voice, best = self._voices[row], (float("inf"), -1)
        for other in others:
            candidate = self._voices[other]
            if other < row:
                at_least_s = voice.span.start_s - self._latest_end_s[other]
            else:
                at_least_s = candidate.span.start_s - voice.span.end_s
            if at_least_s > best[0]:
                break
            label = int(labels[other])
            if label >= 0 and label not in beside and candidate.channel == voice.channel:
                best = min(best, (voice.gap_s(candidate), other))
        return best
