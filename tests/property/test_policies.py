"""What holds for every policy of the registry, whatever its budget and the row."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.regions import Focus, Range, RowView, count_entries

RATES = RequestRates(50.0, 7.0, 30.0, has_alignment_heads=True, tail_sinks=128)
MAX_RANGES = 6
"""What the kernels take for one row: prompt, three of speech and two of output."""

BOUNDED = [name for name in POLICIES if build_policy(name, {}, RATES).output.bound is not None]

counts = st.integers(0, 60)
focuses = st.none() | st.builds(
    Focus,
    position=st.floats(0, 70),
    spread=st.floats(0, 200),
    mass=st.floats(0, 1),
)


@st.composite
def rows(draw: st.DrawFn) -> RowView:
    step = draw(st.integers(1, 150))
    return RowView(step, draw(counts), step, draw(counts), draw(counts), draw(focuses))


@st.composite
def policies(draw: st.DrawFn, name: str) -> EvictionPolicy:
    """The policy with drawn budgets; every count that it has."""
    plain = build_policy(name, {}, RATES)
    options: dict[str, str] = {}
    joint = plain.speech is plain.output
    for region in ("speech",) if joint else ("speech", "output"):
        for field in dataclasses.fields(getattr(plain, region)):
            if retrieval_of(plain) is not None and region == "speech" and field.name != "budget":
                continue  # of the index
            key = field.name if joint else f"{region}_{field.name}"
            options[key] = str(draw(_values(field.name)))
    return build_policy(name, options, RATES)


def _values(name: str) -> st.SearchStrategy[object]:
    if name == "right_edge":
        return st.booleans()
    if name == "rate":
        return st.floats(0.01, 40)
    if name == "max_spread":
        return st.floats(0.1, 300)
    if name == "min_mass":
        return st.floats(0, 1)
    return st.integers(1 if name in ("window", "after", "budget") else 0, 60)


def assert_legal(ranges: tuple[Range, ...], entries: int) -> None:
    end = 0
    for index, (start, stop) in enumerate(ranges):
        assert start < stop
        assert start > end or (index == 0 and start >= 0)  # apart: touching ones are one
        end = stop
    assert end <= entries


@pytest.mark.parametrize("name", POLICIES)
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_selection_when_made_then_legal_and_holds_sinks_and_newest(
    name: str, data: st.DataObject
) -> None:
    policy, row = data.draw(policies(name)), data.draw(rows())
    selection = policy.select(row)
    rule = retrieval_of(policy)
    n = row.speech_entries
    if rule is not None:
        # Which entries they are, the index chooses; whether it is asked, the budget.
        within = n <= rule.budget.of(n)
        assert (selection.speech is None) == (not within)
        selection = dataclasses.replace(selection, speech=selection.speech or ())
    assert selection.speech is not None
    assert_legal(selection.speech, row.speech_entries)
    assert_legal(selection.output, row.output_entries)
    assert 1 + len(selection.speech) + len(selection.output) <= MAX_RANGES
    read = {j for start, end in selection.speech for j in range(start, end)}
    written = {j for start, end in selection.output for j in range(start, end)}
    assert row.output_entries - 1 in written
    if policy.speech is policy.output:
        return  # its sinks are those of the whole row; see the closed form
    assert set(range(min(getattr(policy.speech, "sinks", 0), n))) <= read
    assert set(range(max(0, n - getattr(policy.speech, "tail_sinks", 0)), n)) <= read
    assert set(range(min(getattr(policy.output, "sinks", 0), row.output_entries))) <= written


@pytest.mark.parametrize("name", BOUNDED)
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_selection_when_output_is_bounded_then_the_ring_holds_what_is_read(
    name: str, data: st.DataObject
) -> None:
    policy, row = data.draw(policies(name)), data.draw(rows())
    bound = policy.output.bound
    assert bound is not None
    n = row.output_entries
    held = {j for j in range(n) if j < bound.sinks or j >= n - bound.window}
    written = {j for start, end in policy.select(row).output for j in range(start, end)}
    assert written <= held


@pytest.mark.parametrize(("joined", "part"), [("both", "speech"), ("align+output", "align")])
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_joined_when_compared_with_its_parts_then_reads_no_more_than_either(
    joined: str, part: str, data: st.DataObject
) -> None:
    policy, row = data.draw(policies(joined)), data.draw(rows())
    speech = dataclasses.replace(build_policy(part, {}, RATES), speech=policy.speech)
    output = dataclasses.replace(build_policy("output", {}, RATES), output=policy.output)
    chosen, by_speech, by_output = (p.select(row) for p in (policy, speech, output))
    assert None not in (chosen.speech, by_speech.speech, by_output.speech)
    assert chosen.speech == by_speech.speech
    assert chosen.output == by_output.output
    read = count_entries(chosen.speech) + count_entries(chosen.output)
    for alone in (by_speech, by_output):
        assert read <= count_entries(alone.speech) + count_entries(alone.output)


@pytest.mark.parametrize("name", POLICIES)
@given(row=rows())
@settings(deadline=None, max_examples=50)
def test_selection_when_budget_covers_everything_then_that_of_none(name: str, row: RowView) -> None:
    plain = build_policy(name, {}, RATES)
    options: dict[str, str] = {}
    joint = plain.speech is plain.output
    for region in ("speech",) if joint else ("speech", "output"):
        for field in dataclasses.fields(getattr(plain, region)):
            if field.name in ("window", "before", "after", "budget"):
                options[field.name if joint else f"{region}_{field.name}"] = "1000"
    covering = build_policy(name, options, RATES)
    assert covering.select(row) == build_policy("none", {}, RATES).select(row)


@pytest.mark.parametrize("name", POLICIES)
@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_selection_when_row_is_the_same_then_the_same(name: str, data: st.DataObject) -> None:
    policy, row, other = (data.draw(strategy) for strategy in (policies(name), rows(), rows()))
    first = policy.select(row)
    policy.select(other)  # another row in between leaves no trace: a policy holds no state
    assert policy.select(row) == first
