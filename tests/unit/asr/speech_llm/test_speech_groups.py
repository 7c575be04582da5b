"""VoxZip's first stage by hand: which entries are joined, what they become, times back."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.family import SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.speech_groups import (
    NO_TOKEN,
    SpeechGroups,
    TokenAnchor,
    group_speech,
)

SAMPLES = 1000


def embed(ids: torch.Tensor) -> torch.Tensor:
    """Token n has the embedding (100 n, 0)."""
    return torch.stack((100.0 * ids, 0.0 * ids), dim=1)


def anchor(start: int, end: int, count: int) -> TokenAnchor:
    return TokenAnchor(start, end, tuple(range(1, count + 1)))


def test_groups_when_ten_entries_have_four_tokens_then_two_three_two_three() -> None:
    groups = group_speech(10, SAMPLES, 5.0, [anchor(0, SAMPLES, 4)])
    assert groups.edges == (0, 2, 5, 7, 10)
    assert groups.tokens == (1, 2, 3, 4)
    encoded = torch.stack((torch.arange(10.0), torch.ones(10)), dim=1)
    expected = torch.tensor([[100.5, 1], [203.0, 1], [305.5, 1], [408.0, 1]])
    torch.testing.assert_close(groups.joined(encoded, embed), expected)


def test_groups_when_without_anchors_then_every_entry_is_kept() -> None:
    groups = group_speech(7, SAMPLES, 2.0, [])
    assert groups.edges == tuple(range(8))
    assert groups.tokens == (NO_TOKEN,) * 7
    encoded = torch.randn(7, 2)
    torch.testing.assert_close(groups.joined(encoded, embed), encoded)
    assert (groups.to_audio_s(1.3), groups.to_told_s(1.3)) == (
        pytest.approx(1.3),
        pytest.approx(1.3),
    )


def test_groups_when_an_anchor_lies_inside_then_what_is_around_it_is_kept() -> None:
    # 20 entries; 0.26 and 0.75 of the samples are entries floor(5.2) and floor(15).
    groups = group_speech(20, SAMPLES, 10.0, [anchor(260, 750, 2)])
    assert groups.edges == (0, 1, 2, 3, 4, 5, 10, 15, 16, 17, 18, 19, 20)
    assert groups.tokens == (NO_TOKEN,) * 5 + (1, 2) + (NO_TOKEN,) * 5
    assert groups.entries == 12  # 10 beside the anchor, and a token each
    assert groups.told_s == pytest.approx(6.0)


def test_groups_when_an_anchor_has_as_many_tokens_as_entries_then_it_is_kept() -> None:
    plain = group_speech(20, SAMPLES, 10.0, [])
    assert group_speech(20, SAMPLES, 10.0, [anchor(200, 400, 4)]) == plain  # 4 entries
    assert group_speech(20, SAMPLES, 10.0, [anchor(200, 400, 0)]) == plain
    assert group_speech(20, SAMPLES, 10.0, [anchor(201, 204, 1)]) == plain  # no entry
    assert group_speech(20, SAMPLES, 10.0, [anchor(200, 400, 3)]) != plain


def test_groups_when_anchors_overlap_then_the_second_begins_where_the_first_ends() -> None:
    groups = group_speech(10, SAMPLES, 10.0, [anchor(0, 500, 1), anchor(300, 800, 1)])
    assert groups.edges == (0, 5, 8, 9, 10)
    assert groups.tokens == (1, 1, NO_TOKEN, NO_TOKEN)


def test_times_when_the_model_gives_them_then_led_back_to_the_audio() -> None:
    # 0.5 s an entry. The model has 6 s: 2.5 s as they are, 1 s for 5 s, 2.5 s as they are.
    groups = group_speech(20, SAMPLES, 10.0, [anchor(260, 750, 2)])
    for told_s, audio_s in [(0, 0), (2.5, 2.5), (2.75, 3.75), (3.0, 5.0), (3.5, 7.5), (6, 10)]:
        assert groups.to_audio_s(told_s) == pytest.approx(audio_s)
        assert groups.to_told_s(audio_s) == pytest.approx(told_s)
    output = SpokenOutput((SpokenSegment("a", 3.0, None), SpokenSegment("b", 3.5, 6.5)))
    first, second = groups.in_audio(output).segments
    assert (first.start_s, first.end_s) == (pytest.approx(5.0), None)
    # Half a second past what the model has is half a second past the audio.
    assert (second.start_s, second.end_s) == (pytest.approx(7.5), pytest.approx(10.5))


def test_joined_when_arithmetic_is_half_then_means_are_not() -> None:
    groups = SpeechGroups((0, 4), (NO_TOKEN,), 1.0)
    encoded = torch.tensor([[2048.0], [1.0], [1.0], [1.0]], dtype=torch.float16)
    # 512.75 to the nearest that float16 has; summed up in float16 it were 512.
    assert groups.joined(encoded, embed).tolist() == [[513.0]]


@settings(deadline=None, max_examples=50)
@given(
    entries=st.integers(1, 60),
    spans=st.lists(st.tuples(st.integers(0, SAMPLES), st.integers(0, SAMPLES)), max_size=6),
    counts=st.lists(st.integers(0, 8), min_size=6, max_size=6),
)
def test_groups_when_anchors_are_any_then_they_part_all_entries_in_order(
    entries: int, spans: list[tuple[int, int]], counts: list[int]
) -> None:
    anchors = [
        anchor(min(span), max(span), count)
        for span, count in zip(sorted(spans, key=min), counts, strict=False)
    ]
    groups = group_speech(entries, SAMPLES, 3.0, anchors)
    assert groups.edges[0] == 0
    assert groups.edges[-1] == entries
    assert all(a < b for a, b in zip(groups.edges, groups.edges[1:], strict=False))
    for start, end, token in zip(groups.edges, groups.edges[1:], groups.tokens, strict=False):
        assert token != NO_TOKEN or end == start + 1
    assert groups.to_audio_s(groups.told_s) == pytest.approx(3.0)
