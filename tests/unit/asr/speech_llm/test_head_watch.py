"""Which heads are recorded: by layers at first, by what they do later."""

from __future__ import annotations

import torch

from murmur_cli.asr.speech_llm.head_watch import REVIEWS, SHORTLIST, HeadWatch, candidate_heads
from murmur_cli.asr.speech_llm.layer_caches import LayerKind
from murmur_cli.engine.speech_peaks import NEAR, NUMBERS, ON_SPEECH, PLACE

FULL, SLIDES = LayerKind(2, 8), LayerKind(2, 8, slides=True)


def layers_of(heads: tuple[tuple[int, int], ...]) -> list[int]:
    return sorted({layer for layer, _ in heads})


def test_candidates_then_a_few_layers_without_the_first_and_without_windows() -> None:
    assert layers_of(candidate_heads([FULL] * 4, 6)) == [1, 2, 3]
    assert layers_of(candidate_heads([FULL] * 28, 28)) == [7, 10, 13, 16, 18, 21, 24, 27]
    gemma = [SLIDES, SLIDES, SLIDES, SLIDES, FULL] * 7
    assert layers_of(candidate_heads(gemma, 8)) == [9, 14, 19, 24, 29, 34]
    assert candidate_heads([FULL, SLIDES, SLIDES, SLIDES], 2) == ((0, 0), (0, 1))
    assert candidate_heads([SLIDES] * 3, 2) == ()


def looks(places: list[int]) -> torch.Tensor:
    numbers = torch.zeros(len(places), NUMBERS)
    numbers[:, PLACE] = torch.tensor(places, dtype=torch.float32)
    numbers[:, ON_SPEECH] = 1.0
    numbers[:, NEAR + 4] = 0.8
    return numbers


def decode(watch: HeadWatch, tokens: int, *following: int, heads: int = 6) -> None:
    """A row in which some heads move on by two entries a token, the others look at one place."""
    for token in range(tokens):
        seen = looks([2 * token if head in following else head for head in range(heads)])
        if token == 0:
            watch.begin(0, seen)
        else:
            watch.said(0, is_text=True)
            watch.review()
            watch.look(0, seen)


def test_watch_when_some_heads_follow_then_only_these_are_recorded_on() -> None:
    watch = HeadWatch((), [FULL] * 4, 2)
    assert len(watch.heads) == 6
    decode(watch, REVIEWS[0], 1, 4)
    assert not watch.is_settled
    watch.said(0, is_text=True)
    watch.review()
    assert watch.is_settled
    assert set(watch.heads) == {(1, 1), (3, 0)}


def test_watch_when_no_head_follows_then_it_looks_longer_and_gives_up() -> None:
    watch = HeadWatch((), [FULL] * 4, 2)
    decode(watch, REVIEWS[-1])
    assert not watch.is_settled
    watch.said(0, is_text=True)
    watch.review()
    assert watch.is_settled
    assert watch.heads == ()


def test_watch_when_marks_are_written_then_they_do_not_count() -> None:
    watch = HeadWatch((), [FULL] * 4, 2)
    watch.begin(0, looks([0] * 6))
    for _ in range(2 * REVIEWS[-1]):
        watch.said(0, is_text=False)
        watch.review()
        watch.look(0, looks([0] * 6))
    assert not watch.is_settled


def test_watch_when_many_follow_then_a_short_list() -> None:
    watch = HeadWatch((), [FULL] * 8, 4)
    decode(watch, REVIEWS[0] + 1, *range(24), heads=24)
    assert len(watch.heads) == SHORTLIST


def test_watch_when_the_family_names_heads_then_these_from_the_start() -> None:
    watch = HeadWatch(((3, 1), (1, 0)), [FULL] * 4, 2)
    assert watch.is_settled
    assert watch.heads == ((3, 1), (1, 0))
    decode(watch, 2 * REVIEWS[-1], heads=2)
    assert watch.heads == ((3, 1), (1, 0))
