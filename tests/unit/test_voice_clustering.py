import numpy as np
import pytest

from murmur_cli.voice_clustering import centres, cosines, group_voices


def _directions(*degrees: float) -> np.ndarray:
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def _none_apart(count: int) -> np.ndarray:
    return np.zeros((count, count), dtype=bool)


def test_groups_when_two_directions_then_two_groups_in_order_of_first_member() -> None:
    # cos 10° = .98, cos 80° = .17: 0 and 2 are one voice, 1 and 3 the other.
    labels = group_voices(_directions(0, 90, 10, 80), np.ones(4), _none_apart(4), threshold=0.5)
    assert labels.tolist() == [0, 1, 0, 1]


def test_groups_when_pair_is_apart_then_it_is_never_joined() -> None:
    apart = _none_apart(3)
    apart[0, 1] = apart[1, 0] = True
    labels = group_voices(_directions(0, 1, 40), np.ones(3), apart, threshold=0.5)
    assert labels[0] != labels[1]
    assert labels[2] == labels[1]  # 39° is nearer than 40°


def test_groups_when_member_is_apart_then_its_group_inherits_that() -> None:
    apart = _none_apart(3)
    apart[0, 2] = apart[2, 0] = True
    # 0 and 1 are joined first (1°); 2 may then not join them although 1 and 2 are 2° off.
    labels = group_voices(_directions(0, 1, 3), np.ones(3), apart, threshold=0.5)
    assert labels.tolist() == [0, 0, 1]


def test_groups_when_long_voice_dominates_then_centre_follows_it() -> None:
    # The centre of 0° (weight 99) and 50° (weight 1) lies near 0°: 110° stays out of reach of
    # it (cos 110° < 0) but is 60° (cos .5) from 50° alone.
    labels = group_voices(
        _directions(0, 50, 110), np.array([99.0, 1.0, 1.0]), _none_apart(3), threshold=0.4
    )
    assert labels.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("minimum", "maximum", "groups"),
    [(1, None, 2), (3, None, 3), (4, None, 4), (1, 1, 1), (3, 3, 3), (1, 5, 2)],
)
def test_groups_when_count_is_bounded_then_bound_holds(
    minimum: int, maximum: int | None, groups: int
) -> None:
    labels = group_voices(
        _directions(0, 5, 90, 99),
        np.ones(4),
        _none_apart(4),
        threshold=0.5,
        minimum=minimum,
        maximum=maximum,
    )
    assert len(set(labels.tolist())) == groups


def test_groups_when_forced_below_the_threshold_then_the_small_one_joins() -> None:
    # 0° and 70° are nearest (cos .34), but the lone second at 160° (cos 90° = 0) costs less:
    # 100 * 100 / 200 * .66 = 33 against 100 * 1 / 101 * 1 = .99.
    labels = group_voices(
        _directions(0, 70, 160),
        np.array([100.0, 100.0, 1.0]),
        _none_apart(3),
        threshold=0.5,
        maximum=2,
    )
    assert labels.tolist() == [0, 1, 1]


def test_groups_when_all_are_apart_then_maximum_does_not_join_them() -> None:
    apart = ~np.eye(3, dtype=bool)
    labels = group_voices(_directions(0, 1, 2), np.ones(3), apart, threshold=0.5, maximum=1)
    assert labels.tolist() == [0, 1, 2]


@pytest.mark.parametrize("count", [0, 1])
def test_groups_when_at_most_one_voice_then_trivial(count: int) -> None:
    labels = group_voices(np.ones((count, 2)), np.ones(count), _none_apart(count), threshold=0.5)
    assert labels.tolist() == [0] * count


def test_groups_when_voices_cancel_then_no_nan() -> None:
    labels = group_voices(
        _directions(0, 180, 90), np.ones(3), _none_apart(3), threshold=-1.0, maximum=1
    )
    assert labels.tolist() == [0, 0, 0]


def test_centres_when_weighted_then_unit_mean() -> None:
    found = centres(_directions(0, 90), np.array([3.0, 4.0]), np.array([0, 0]))
    assert found[0].tolist() == pytest.approx([0.6, 0.8])


def test_cosines_when_row_is_zero_then_zero() -> None:
    assert cosines(np.zeros((1, 2)), _directions(0)).tolist() == [[0.0]]
