"""Which words share a subtitle cue: the division that costs least over a whole run."""

from __future__ import annotations

from murmur_cli.writers.line_break import MeasuredText

MIN_CUE_S = 1.0
MAX_CUE_S = 7.0
MAX_COLUMNS_PER_S = 20.0

# Costs are weighed against one cue more than needed: a cut inside a clause is worse than that.
_CUE = 10.0
_BREAK_WEIGHT = 1.5  # of the costs of line breaks: the eye finds a line sooner than a cue
_SENTENCE_END_INSIDE = 4.0
_PAUSE_GAIN_PER_S = 10.0  # a cut in a pause is better than one in mid-flow
_TOO_SHORT_PER_S = 15.0
_TOO_FAST_PER_COLUMN = 0.5


def best_cuts(text: MeasuredText) -> list[tuple[int, int]]:
    """Ranges of atoms, one for each cue, in order.

    A cue of several atoms fits in two lines and lasts at most `MAX_CUE_S`. The search is exact
    (dynamic programming); its time grows with the number of atoms times those of one cue.
    """
    count = len(text.atoms)
    best = [0.0] + [float("inf")] * count
    came_from = [0] * (count + 1)
    for end in range(1, count + 1):
        for start in range(end - 1, -1, -1):
            if start < end - 1 and not _allowed(text, start, end):
                break
            cost = best[start] + _cost(text, start, end)
            if cost < best[end]:
                best[end], came_from[end] = cost, start
    ranges: list[tuple[int, int]] = []
    end = count
    while end:
        ranges.append((came_from[end], end))
        end = came_from[end]
    return ranges[::-1]


def _allowed(text: MeasuredText, start: int, end: int) -> bool:
    return _shown_s(text, start, end) <= MAX_CUE_S and text.fits(start, end)


def _shown_s(text: MeasuredText, start: int, end: int) -> float:
    return text.atoms[end - 1].span.end_s - text.atoms[start].span.start_s


def _cost(text: MeasuredText, start: int, end: int) -> float:
    room_s = _shown_s(text, start, end)
    cost = _CUE
    if end < len(text.atoms):
        pause_s = max(0.0, text.atoms[end].span.start_s - text.atoms[end - 1].span.end_s)
        cost += _BREAK_WEIGHT * text.break_costs[end - 1] - _PAUSE_GAIN_PER_S * min(pause_s, 1.0)
        room_s += pause_s
    else:
        room_s = max(room_s, MIN_CUE_S)  # a pause or another voice follows: not known here
    columns = text.columns(start, end)
    cost += _TOO_SHORT_PER_S * max(0.0, MIN_CUE_S - room_s)
    cost += _TOO_FAST_PER_COLUMN * max(0.0, columns - MAX_COLUMNS_PER_S * room_s)
    inside = text.sentences_before[end - 1] - text.sentences_before[start]
    return cost + _SENTENCE_END_INSIDE * inside
