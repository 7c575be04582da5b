"""What a policy covers: by hand, and on a random model through the engine."""

from __future__ import annotations

import numpy as np
import pytest

from murmur_cli.sweeps.grid import PolicySetting
from policies.coverage import Asked, asked_alike, coverage, covered, layers_of, mass
from policies.grid import FULL, policy_of
from policies.nano_subject import NanoSubject
from policies.subject import given, greedy

STEPS = 6


def test_covered_when_entries_are_left_out_then_the_retained_mass() -> None:
    full = np.array([[[0.4, 0.3, 0.2, 0.1]]])
    own = np.array([[[0.4 / 0.6, 0, 0.2 / 0.6, 0]]])
    assert covered(full, own)[0, 0] == pytest.approx(0.6)
    assert mass(full)[0, 0] == pytest.approx(1.0)


def test_covered_when_a_summary_stands_for_two_then_the_common_part() -> None:
    full = np.array([[[0.5, 0.3, 0.2]]])
    assert covered(full, np.array([[[0.5, 0.25, 0.25]]]))[0, 0] == pytest.approx(0.95)


def test_layers_of_heads() -> None:
    assert layers_of(((0, 0), (0, 1), (1, 0), (1, 1))) == [[0, 1], [2, 3]]


@pytest.fixture(scope="module")
def subject() -> NanoSubject:
    """The committed weights on short meetings."""
    return NanoSubject(2, frames=240)


def first_tokens(subject: NanoSubject) -> Asked:
    full = greedy(subject, policy_of(FULL, subject.rates)).done
    return asked_alike(subject, [one.tokens for one in full], STEPS, all_heads=True)


def test_coverage_when_the_budget_holds_everything_then_all(subject: NanoSubject) -> None:
    asked = first_tokens(subject)
    setting = PolicySetting("quest", (("budget", "4000"),))
    found = coverage(subject, policy_of(setting, subject.rates), asked)
    # Attention is kept in half precision.
    assert found["covered"] == pytest.approx(1.0, abs=2e-3)
    assert len(found["by_layer"]) == 4
    assert found["steps"] == 2 * (STEPS - 1)


def test_coverage_when_less_is_read_then_less_and_summaries_add(subject: NanoSubject) -> None:
    asked = first_tokens(subject)

    def of(*options: tuple[str, str]) -> float:
        policy = policy_of(PolicySetting("quest", options), subject.rates)
        return float(coverage(subject, policy, asked)["covered"])

    small, large = of(("budget", "48")), of(("budget", "160"))
    assert 0 < small < large < 1
    assert of(("budget", "48"), ("remainder", "true")) > small


def test_given_when_tokens_are_others_then_written_all_the_same(subject: NanoSubject) -> None:
    tokens = [tuple(range(60, 66)), tuple(range(80, 86))]
    policy = policy_of(FULL, subject.rates)
    answers = given(subject, policy, subject.requests, tokens, all_heads=False)
    assert [one.tokens for one in answers.done] == tokens
