"""Where entries lie and which are read, against layouts drawn by hand and by brute force."""

from __future__ import annotations

import dataclasses
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.speech_llm.row_layout import RowLayout
from murmur_cli.engine.model_adapter import StepRow
from murmur_cli.engine.policies.base import OutputBound, RequestRates
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.engine.regions import Focus, Range, RowView, Selection

MAX_RANGES = 6
"""What the kernels take for one row."""


def row(
    speech: tuple[Range, ...],
    output: tuple[Range, ...],
    *,
    prompt: int = 4,
    speech_entries: int = 10,
    suffix: int = 3,
    output_entries: int = 5,
) -> StepRow:
    return StepRow(
        slot=0,
        token=7,
        selection=Selection(speech, output),
        speech_entries=speech_entries,
        output_entries=output_entries,
        prompt_entries=prompt,
        suffix_entries=suffix,
    )


def test_regions_when_nothing_is_left_out_then_one_range_and_the_newest_at_its_end() -> None:
    layout = RowLayout(row(((0, 10),), ((0, 5),)), None)
    assert (layout.speech_start, layout.output_start) == (4, 17)
    assert (layout.position, layout.place) == (21, 21)
    assert layout.reads(None) == ((0, 22),)


@pytest.mark.parametrize(
    ("speech", "output", "reads"),
    [
        ((), ((0, 5),), ((0, 4), (14, 22))),
        (((0, 2), (5, 7)), ((0, 5),), ((0, 6), (9, 11), (14, 22))),
        (((5, 10),), ((0, 1), (4, 5)), ((0, 4), (9, 18), (21, 22))),
        (((0, 1), (4, 5), (8, 9)), ((4, 5),), ((0, 5), (8, 9), (12, 13), (14, 17), (21, 22))),
    ],
)
def test_reads_when_entries_are_left_out_then_the_rest_merged(
    speech: tuple[Range, ...], output: tuple[Range, ...], reads: tuple[Range, ...]
) -> None:
    assert RowLayout(row(speech, output), None).reads(None) == reads


def test_reads_when_there_is_no_speech_then_prompt_suffix_output() -> None:
    layout = RowLayout(row((), ((0, 5),), speech_entries=0), None)
    assert layout.reads(None) == ((0, 12),)


def test_ring_when_the_window_has_wrapped_then_places_turn_and_positions_go_on() -> None:
    """One sink and a window of 3 after 17 entries: output entry 5 overwrites entry 2 at 19."""
    layout = RowLayout(row(((0, 10),), ((0, 1), (3, 6)), output_entries=6), OutputBound(1, 3))
    assert (layout.position, layout.place) == (22, 19)
    assert layout.reads(None) == ((0, 21),)
    part = RowLayout(row(((0, 10),), ((0, 1), (4, 6)), output_entries=6), OutputBound(1, 3))
    assert part.reads(None) == ((0, 20),)  # entry 3 lies at 20 and is not read
    late = RowLayout(row(((0, 10),), ((0, 1), (5, 7)), output_entries=7), OutputBound(1, 3))
    assert late.reads(None) == ((0, 18), (19, 21))  # entries 5 and 6 lie at 19 and 20


@pytest.mark.parametrize(
    ("window", "reads"),
    [
        (1, ((21, 22),)),
        (5, ((17, 22),)),
        (7, ((15, 22),)),
        (12, ((10, 11), (14, 22))),
        (19, ((3, 6), (9, 11), (14, 22))),
        (100, ((0, 6), (9, 11), (14, 22))),
    ],
)
def test_reads_when_the_layer_slides_then_only_the_last_positions(
    window: int, reads: tuple[Range, ...]
) -> None:
    assert RowLayout(row(((0, 2), (5, 7)), ((0, 5),)), None).reads(window) == reads


def test_reads_when_the_layer_slides_over_a_ring_then_by_position_not_by_place() -> None:
    """Of output entries 3, 4, 5 at places 20, 18, 19 the last two positions are 4 and 5."""
    layout = RowLayout(row(((0, 10),), ((0, 1), (3, 6)), output_entries=6), OutputBound(1, 3))
    assert layout.reads(2) == ((18, 20),)
    assert layout.reads(3) == ((18, 21),)


# --- every policy -------------------------------------------------------------------------------

RATES = RequestRates(7.5, 9.0, 300.0, has_alignment_heads=True, tail_sinks=4)
counts = st.integers(1, 80)
focuses = st.none() | st.builds(
    Focus, position=st.floats(0, 90), spread=st.floats(0, 60), mass=st.floats(0, 1)
)


@pytest.mark.parametrize("name", POLICIES)
@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_reads_when_a_policy_selects_then_few_ranges_that_hold_what_it_selected(
    name: str, data: st.DataObject
) -> None:
    known = _options_of(name)
    drawn = {key: str(data.draw(st.integers(1, 20))) for key in known if data.draw(st.booleans())}
    policy = build_policy(name, drawn, RATES)
    prompt, suffix, speech, step = (data.draw(counts) for _ in range(4))
    view = RowView(step, speech, step, prompt, suffix, data.draw(focuses))
    selection = policy.select(view)
    layout = RowLayout(
        row(
            selection.speech,
            selection.output,
            prompt=prompt,
            speech_entries=speech,
            suffix=suffix,
            output_entries=step,
        ),
        policy.output.bound,
    )
    window = data.draw(st.none() | st.integers(1, 200))
    reads = layout.reads(window)
    assert len(reads) <= MAX_RANGES
    assert all(start < end for start, end in reads)
    assert all(left[1] < right[0] for left, right in pairwise(reads))
    first = 0 if window is None else layout.position - window + 1
    chosen = selection.speech
    if chosen is None:  # an index chooses, but a layer that slides reads all that it sees
        chosen = () if window is None else ((0, speech),)
    positions = {
        **{at: at for at in (*range(prompt), *range(prompt + speech, layout.output_start))},
        **{prompt + at: prompt + at for start, end in chosen for at in range(start, end)},
    }
    bound = policy.output.bound
    for start, end in selection.output:
        for at in range(start, end):
            place = at
            if bound is not None and at >= bound.sinks + bound.window:
                place = bound.sinks + (at - bound.sinks) % bound.window
            positions[layout.output_start + at] = layout.output_start + place
    expected = sorted(place for position, place in positions.items() if position >= first)
    assert [at for start, end in reads for at in range(start, end)] == expected
    assert layout.place in expected


def _options_of(name: str) -> list[str]:
    """Counts that the policy takes; where it has a rule for each region, with the region's name."""
    plain = build_policy(name, {}, RATES)
    regions = [("", plain.speech)]
    if plain.speech is not plain.output:
        regions = [("speech_", plain.speech), ("output_", plain.output)]
    return [
        prefix + field.name
        for prefix, rule in regions
        for field in dataclasses.fields(rule)  # type: ignore[arg-type]
        if field.name in ("window", "sinks", "delay", "before", "after")
    ]
