from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.ndimage import median_filter

from murmur_cli.asr.whisper.median_of_seven import median_of_seven


def test_median_of_seven_when_worked_by_hand_then_same() -> None:
    rows = np.array([[9, 1, 8, 2, 7, 3, 6, 4]], np.float32)
    # first window: 8 1 9 | 9 1 8 2, sorted 1 1 2 8 8 9 9
    # fourth window: 9 1 8 2 7 3 6, sorted 1 2 3 6 7 8 9
    found = median_of_seven(rows)[0]
    assert found[0] == 8
    assert found[3] == 6


@settings(deadline=None, max_examples=50)
@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 4), st.integers(1, 40)),
        elements=st.one_of(st.integers(-3, 3).map(float), st.floats(-100, 100, width=32)),
    )
)
def test_median_of_seven_when_any_rows_then_as_scipy(rows: np.ndarray) -> None:
    kept = rows.copy()
    assert np.array_equal(median_of_seven(rows), median_filter(rows, size=(1, 7), mode="reflect"))
    assert np.array_equal(rows, kept)
