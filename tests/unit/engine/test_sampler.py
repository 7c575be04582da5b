from __future__ import annotations

import math

import pytest
import torch

from murmur_cli.engine.sampler import sample


def generator(seed: int) -> torch.Generator:
    made = torch.Generator()
    made.manual_seed(seed)
    return made


def test_greedy_when_sampled_then_largest_and_log_probability_by_hand() -> None:
    logits = torch.tensor([[1.0, 2.0, 3.0], [5.0, -math.inf, 5.0 - math.log(3)]])
    sampled = sample(logits, [0.0, 0.0], [None, None])
    assert sampled.tokens == (2, 0)
    # exp(3) of exp(1)+exp(2)+exp(3); 1 of 1 + 1/3
    first = 3.0 - math.log(math.exp(1) + math.exp(2) + math.exp(3))
    assert sampled.logprobs == pytest.approx((first, math.log(0.75)), abs=1e-6)


def test_draw_when_neighbours_change_then_same_token() -> None:
    logits = torch.randn(4, 50)
    alone = sample(logits[1:2], [0.8], [generator(7)])
    for temperatures in ([0.0, 0.8, 0.0, 0.0], [0.8, 0.8, 1.2, 0.4]):
        generators = [generator(1), generator(7), generator(2), generator(3)]
        together = sample(logits, temperatures, generators)
        assert together.tokens[1] == alone.tokens[0]
        assert together.logprobs[1] == pytest.approx(alone.logprobs[0], abs=1e-6)


def test_draw_when_repeated_then_frequencies_of_the_softened_distribution() -> None:
    logits = torch.tensor([[0.0, math.log(4.0)]])
    source = generator(3)
    drawn = [sample(logits, [2.0], [source]).tokens[0] for _ in range(4000)]
    # exp(log(4) / 2) = 2: two in three; standard deviation sqrt(2/9/4000) = 0.0075.
    assert sum(drawn) / len(drawn) == pytest.approx(2 / 3, abs=4 * 0.0075)


def test_draw_when_softened_then_log_probability_is_of_the_plain_logits() -> None:
    logits = torch.tensor([[0.0, math.log(4.0)]])
    sampled = sample(logits, [2.0], [generator(3)])
    assert sampled.logprobs[0] == pytest.approx(math.log((0.2, 0.8)[sampled.tokens[0]]), abs=1e-6)


def test_draw_when_token_is_forbidden_then_never_drawn() -> None:
    logits = torch.tensor([[0.0, -math.inf, 0.0]])
    source = generator(5)
    assert {sample(logits, [5.0], [source]).tokens[0] for _ in range(50)} == {0, 2}
