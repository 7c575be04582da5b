import numpy as np
import pytest

from murmur_cli.diarization.powerset import (
    CLASSES,
    MEMBERSHIP,
    active_slots,
    fewer_probabilities,
    slot_probabilities,
)


def test_classes_when_three_slots_two_at_once_then_order_of_the_checkpoint() -> None:
    assert CLASSES == ((), (0,), (1,), (2,), (0, 1), (0, 2), (1, 2))
    assert MEMBERSHIP[5].tolist() == [1, 0, 1]


@pytest.mark.parametrize("index", range(7))
def test_active_slots_when_class_wins_then_its_members(index: int) -> None:
    scores = np.full((2, 7), -9.0, dtype=np.float32)
    scores[:, index] = -0.1
    expected = [slot in CLASSES[index] for slot in range(3)]
    assert active_slots(scores).tolist() == [expected, expected]


def test_slot_probabilities_when_classes_share_a_slot_then_summed() -> None:
    probabilities = np.array([0.1, 0.2, 0.05, 0.05, 0.3, 0.2, 0.1], dtype=np.float32)
    found = slot_probabilities(np.log(probabilities))
    # slot 0: .2 + .3 + .2, slot 1: .05 + .3 + .1, slot 2: .05 + .2 + .1
    assert found.tolist() == pytest.approx([0.7, 0.45, 0.35], abs=1e-6)


def test_fewer_when_classes_have_sizes_then_smaller_ones_are_summed() -> None:
    probabilities = np.array([0.1, 0.2, 0.05, 0.05, 0.3, 0.2, 0.1], dtype=np.float32)
    found = fewer_probabilities(np.log(probabilities))
    # nobody .1; at most one: .1 + .2 + .05 + .05
    assert found.tolist() == pytest.approx([0.1, 0.4], abs=1e-6)
