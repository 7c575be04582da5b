"""Where tokens begin, from looks whose true places are known."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.asr.speech_llm import token_entries
from murmur_cli.asr.speech_llm.token_entries import agreement, first_entries
from murmur_cli.engine.speech_peaks import REACH, PeakTrace


def looking_at(starts: list[int], ends: list[int], *, heads: int = 2) -> PeakTrace:
    """Each token looks evenly at all its entries, [start, end)."""
    places, near = [], []
    for start, end in zip(starts, ends, strict=True):
        middle = (start + end - 1) // 2
        around = np.arange(middle - REACH, middle + REACH + 1)
        places.append([middle] * heads)
        near.append([np.where((around >= start) & (around < end), 1 / (end - start), 0.0)] * heads)
    whole = np.ones((len(starts), heads), np.float32)
    return PeakTrace(
        tuple((0, head) for head in range(heads)),
        np.array(places, np.int64),
        whole,
        np.array(near, np.float32),
    )


def test_entries_when_tokens_look_at_their_own_then_these() -> None:
    trace = looking_at([3, 6, 8, 14], [6, 8, 12, 17])
    assert first_entries(trace, 0, 30).tolist() == [3, 6, 8, 14, 17]
    assert agreement(trace, first_entries(trace, 0, 30)) == pytest.approx(1.0)


def test_entries_when_one_token_looks_far_away_then_the_others_stay() -> None:
    trace = looking_at([3, 6, 8, 14], [6, 8, 12, 17])
    trace.places[1] = 25
    found = first_entries(trace, 0, 30)
    assert found[[0, 2, 3, 4]].tolist() == [3, 8, 14, 17]
    assert 5 <= found[1] <= 8
    assert agreement(trace, found) == pytest.approx(0.75)


def test_entries_when_only_a_stretch_is_meant_then_within_it() -> None:
    trace = looking_at([3, 6, 28], [6, 8, 30])
    found = first_entries(trace, 2, 12)
    assert found[:2].tolist() == [3, 6]
    assert found.max() <= 12
    assert agreement(trace, found) < 0.7


def test_entries_when_nothing_was_seen_then_still_in_order() -> None:
    trace = looking_at([3, 6], [6, 8])
    trace.near[:] = 0.0
    found = first_entries(trace, 5, 9)
    assert (np.diff(found) >= 0).all()
    assert 5 <= found[0] <= found[-1] <= 9
    assert agreement(trace, found) == 0.0


def test_entries_when_a_text_is_long_then_as_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(0)
    lengths = random.integers(1, 6, 600)
    edges = np.concatenate([[4], 4 + np.cumsum(lengths)])
    trace = looking_at(edges[:-1].tolist(), edges[1:].tolist())
    whole = first_entries(trace, 0, int(edges[-1]) + 9)
    assert whole.tolist() == edges.tolist()
    monkeypatch.setattr(token_entries, "MOST_CELLS", 100_000)
    in_runs = first_entries(trace, 0, int(edges[-1]) + 9)
    assert np.abs(in_runs - edges).max() <= 1
    assert (in_runs == edges).mean() > 0.99
