import numpy as np
import pytest

from murmur_cli.diarization.runs import joined_runs


@pytest.mark.parametrize(
    ("row", "max_gap", "expected"),
    [
        ("", 0, []),
        ("000", 0, []),
        ("111", 0, [(0, 3)]),
        ("0110", 0, [(1, 3)]),
        ("1010011", 0, [(0, 1), (2, 3), (5, 7)]),
        ("1010011", 1, [(0, 3), (5, 7)]),
        ("1010011", 2, [(0, 7)]),
    ],
)
def test_runs_when_gaps_allowed_then_joined(
    row: str, max_gap: int, expected: list[tuple[int, int]]
) -> None:
    found = joined_runs(np.array([mark == "1" for mark in row], dtype=bool), max_gap)
    assert found == expected
