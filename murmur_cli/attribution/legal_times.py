"""Word times that any file format may hold, from whatever times a model gave."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from murmur_cli.types import TimeSpan, Word

MIN_WORD_S = 0.01
"""Shortest word: stays above zero in formats with three, or even two, decimals."""

# Speaking time of one character, for words without a length: 15 characters per second is the
# usual rate of English speech.
_CHARACTER_S = 1 / 15
# A time this close outside the recording is rounding of the model's frame grid, not a fault.
_TOLERANCE_S = 0.02


@dataclass(frozen=True, slots=True)
class LegalWord:
    """A word with legal times; `out_of_range` tells that the model's lay outside the audio."""

    word: Word
    out_of_range: bool


def legal_words(words: Sequence[Word], duration_s: float) -> list[LegalWord]:
    """The same words in the same order, with times that hold for every reader.

    0 <= start < end <= duration; starts increase by at least `MIN_WORD_S` (less only if the
    recording has no room for so many words). Ends are kept, so a word may overlap the next:
    `without_overlap` trims that once the speakers are known. A word whose start breaks the order
    of its neighbours, or which has no length, shares their time by characters. Times that are
    legal already stay untouched.
    """
    if not words:
        return []
    assert duration_s > 0, "words need a recording with a length"
    starts_s = [_clamp(word.span.start_s, duration_s) for word in words]
    ends_s = [_clamp(word.span.end_s, duration_s) for word in words]
    weights = [max(1, len(word.text)) for word in words]
    _put_in_order(starts_s, ends_s, weights)
    _share_places(starts_s, ends_s, weights, duration_s)
    step_s = min(MIN_WORD_S, duration_s / (len(words) + 1))
    _keep_apart(starts_s, step_s, duration_s)
    return [
        LegalWord(
            replace(word, span=TimeSpan(start_s, min(duration_s, max(end_s, start_s + step_s)))),
            _is_outside(word.span, duration_s),
        )
        for word, start_s, end_s in zip(words, starts_s, ends_s, strict=True)
    ]


def without_overlap(words: Sequence[Word]) -> list[Word]:
    """Trim each word to end where the next one of the same speaker starts.

    Words of different speakers may overlap. Starts must increase (as from `legal_words`).
    """
    trimmed: list[Word] = []
    next_start_s: dict[str | None, float] = {}
    for word in reversed(words):
        end_s = min(word.span.end_s, next_start_s.get(word.speaker, word.span.end_s))
        next_start_s[word.speaker] = word.span.start_s
        trimmed.append(replace(word, span=TimeSpan(word.span.start_s, end_s)))
    return trimmed[::-1]


def _clamp(time_s: float, duration_s: float) -> float:
    return min(max(time_s, 0.0), duration_s)


def _is_outside(span: TimeSpan, duration_s: float) -> bool:
    return span.start_s < -_TOLERANCE_S or span.end_s > duration_s + _TOLERANCE_S


def _put_in_order(starts_s: list[float], ends_s: list[float], weights: Sequence[int]) -> None:
    """Move the starts that break the order between those that keep it.

    The longest run of starts in order is kept, so one wild time does not push all that follow.
    """
    kept = _longest_in_order(starts_s)
    for left, right in zip([-1, *kept], [*kept, len(starts_s)], strict=True):
        inside = range(left + 1, right)
        if not inside:
            continue
        # Before the first kept start and after the last there is nothing to share: stay there.
        low_s = starts_s[left] if left >= 0 else starts_s[right]
        high_s = starts_s[right] if right < len(starts_s) else low_s
        first_weight = weights[left] if left >= 0 else 0
        total = first_weight + sum(weights[at] for at in inside)
        done = first_weight
        for at in inside:
            starts_s[at] = low_s + (high_s - low_s) * done / total
            done += weights[at]
            ends_s[at] = low_s + (high_s - low_s) * done / total


def _longest_in_order(values: Sequence[float]) -> list[int]:
    """Indices of a longest non-decreasing subsequence (patience sorting, n log n)."""
    tops: list[float] = []
    top_at: list[int] = []
    before: list[int] = []
    for at, value in enumerate(values):
        pile = bisect_right(tops, value)
        before.append(top_at[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        top_at[pile : pile + 1] = [at]
    chain: list[int] = []
    at = top_at[-1]
    while at >= 0:
        chain.append(at)
        at = before[at]
    return chain[::-1]


def _share_places(
    starts_s: list[float], ends_s: list[float], weights: Sequence[int], duration_s: float
) -> None:
    """Give words that start together, or have no length, a share of the time around them."""
    first = 0
    while first < len(starts_s):
        last = first
        while last + 1 < len(starts_s) and starts_s[last + 1] - starts_s[first] < MIN_WORD_S:
            last += 1
        if last > first or ends_s[first] - starts_s[first] < MIN_WORD_S:
            next_s = starts_s[last + 1] if last + 1 < len(starts_s) else duration_s
            _share_place(starts_s, ends_s, weights, range(first, last + 1), next_s)
        first = last + 1


def _share_place(
    starts_s: list[float],
    ends_s: list[float],
    weights: Sequence[int],
    group: range,
    next_s: float,
) -> None:
    low_s = starts_s[group.start]
    needed_s = _CHARACTER_S * sum(weights[at] for at in group)
    high_s = min(next_s, max(low_s + needed_s, *(ends_s[at] for at in group)))
    if high_s - low_s < MIN_WORD_S * len(group):
        # No room until the next word: reach back, at most to half of the word before.
        before_s = starts_s[group.start - 1] if group.start else 0.0
        low_s = max((before_s + low_s) / 2 if group.start else 0.0, high_s - needed_s)
    edges = list(accumulate((weights[at] for at in group), initial=0))
    for at, done, after in zip(group, edges, edges[1:], strict=False):
        starts_s[at] = low_s + (high_s - low_s) * done / edges[-1]
        ends_s[at] = low_s + (high_s - low_s) * after / edges[-1]


def _keep_apart(starts_s: list[float], step_s: float, duration_s: float) -> None:
    """Move starts the least that leaves each word `step_s`, from both ends of the recording."""
    for at in range(1, len(starts_s)):
        starts_s[at] = max(starts_s[at], starts_s[at - 1] + step_s)
    limit_s = duration_s
    for at in reversed(range(len(starts_s))):
        limit_s = min(starts_s[at], limit_s - step_s)
        starts_s[at] = max(0.0, limit_s)
