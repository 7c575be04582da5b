"""Kept sets against hand examples and closed forms of the definitions."""

from __future__ import annotations

import pytest

from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.output_window import OutputWindow
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.policies.speech_window import SpeechWindow
from murmur_cli.engine.policies.streaming_window import StreamingWindow
from murmur_cli.engine.regions import Range, RowView
from support.dense_whisper import kept_output, kept_speech, kept_streaming

# 300 s requests at the rates of the paper's model: its own entries come out.
PAPER_RATES = RequestRates(speech_entries_per_s=7.5, output_tokens_per_s=9.0, request_s=300.0)
WHISPER_LIKE = RequestRates(
    speech_entries_per_s=50.0,
    output_tokens_per_s=7.0,
    request_s=30.0,
    has_alignment_heads=True,
    tail_sinks=128,
)


def entries(ranges: tuple[Range, ...]) -> list[int]:
    return [j for start, end in ranges for j in range(start, end)]


def at_step(step: int, speech: int = 12) -> RowView:
    return RowView(step, speech, step)


def test_keep_all_when_asked_then_everything_and_no_bound() -> None:
    assert KeepAll().select_speech(at_step(3)) == ((0, 12),)
    assert KeepAll().select_output(at_step(3)) == ((0, 3),)
    assert KeepAll().bound is None


# N=12, sinks 2, window 3, delay 1, rate 2: at most 12-2-3 = 7 entries are ever evicted.
HAND = {
    1: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    2: [0, 1, 4, 5, 6, 7, 8, 9, 10, 11],
    3: [0, 1, 6, 7, 8, 9, 10, 11],
    4: [0, 1, 8, 9, 10, 11],
    5: [0, 1, 9, 10, 11],
    6: [0, 1, 9, 10, 11],
    60: [0, 1, 9, 10, 11],
}


@pytest.mark.parametrize("step", HAND)
def test_speech_window_when_left_edge_moves_then_hand_example(step: int) -> None:
    rule = SpeechWindow(delay=1, window=3, rate=2, sinks=2)
    assert entries(rule.select_speech(at_step(step))) == HAND[step]


# The example of the published code (prompt 3, speech 12, suffix 5): speech is counted from 0 here.
@pytest.mark.parametrize(
    ("step", "absolute"),
    [
        (1, [*range(3, 15)]),
        (2, [3, 4, *range(7, 15)]),
        (3, [3, 4, *range(9, 15)]),
        (4, [3, 4, *range(11, 15)]),
        (5, [3, 4, 12, 13, 14]),
        (6, [3, 4, 12, 13, 14]),
    ],
)
def test_speech_window_when_prompt_comes_first_then_published_hand_example(
    step: int, absolute: list[int]
) -> None:
    rule = SpeechWindow(delay=1, window=3, rate=2, sinks=2)
    row = RowView(step, 12, step, prompt_entries=3, suffix_entries=5)
    assert [3 + j for j in entries(rule.select_speech(row))] == absolute


# N=12, sinks 1, tail sinks 3, window 2, delay 1, rate 2: the window moves within [1, 9).
TAIL = {
    1: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    2: [0, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    3: [0, 5, 6, 7, 8, 9, 10, 11],
    4: [0, 7, 8, 9, 10, 11],
    9: [0, 7, 8, 9, 10, 11],
}
TAIL_RIGHT_EDGE = {
    1: [0, 1, 2, 9, 10, 11],
    2: [0, 3, 4, 9, 10, 11],
    4: [0, 7, 8, 9, 10, 11],
    9: [0, 7, 8, 9, 10, 11],
}


@pytest.mark.parametrize("step", TAIL)
def test_speech_window_when_tail_sinks_then_always_read_and_no_part_of_the_window(
    step: int,
) -> None:
    rule = SpeechWindow(delay=1, window=2, rate=2, sinks=1, tail_sinks=3)
    assert entries(rule.select_speech(at_step(step))) == TAIL[step]
    assert set(entries(rule.select_speech(at_step(step)))) == kept_speech(step, 12, 1, 2, 2, 1, 3)


@pytest.mark.parametrize("step", TAIL_RIGHT_EDGE)
def test_speech_window_when_tail_sinks_and_right_edge_then_two_windows(step: int) -> None:
    rule = SpeechWindow(delay=1, window=2, rate=2, sinks=1, tail_sinks=3, right_edge=True)
    assert entries(rule.select_speech(at_step(step))) == TAIL_RIGHT_EDGE[step]


@pytest.mark.parametrize("entries_held", [1, 3, 5, 8])
def test_speech_window_when_row_is_shorter_than_its_sinks_then_everything(
    entries_held: int,
) -> None:
    rule = SpeechWindow(delay=0, window=1, rate=9.0, sinks=3, tail_sinks=6)
    for step in (1, 50):
        row = RowView(step, entries_held, step)
        assert rule.select_speech(row) == ((0, entries_held),)


# Two edges, no sinks: a window of 4 that stays for 2 steps, then moves by one.
RIGHT_EDGE = {
    1: [0, 1, 2, 3],
    2: [0, 1, 2, 3],
    3: [1, 2, 3, 4],
    5: [3, 4, 5, 6],
    40: [8, 9, 10, 11],
}


@pytest.mark.parametrize("step", RIGHT_EDGE)
def test_speech_window_when_right_edge_then_window_of_fixed_size(step: int) -> None:
    rule = SpeechWindow(delay=2, window=4, rate=1, right_edge=True)
    assert entries(rule.select_speech(at_step(step))) == RIGHT_EDGE[step]


@pytest.mark.parametrize(("step", "first"), [(1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 3)])
def test_speech_window_when_rate_is_a_fraction_then_floor(step: int, first: int) -> None:
    rule = SpeechWindow(delay=1, window=5, rate=0.5)
    assert entries(rule.select_speech(at_step(step)))[0] == first


@pytest.mark.parametrize(
    "rule",
    [
        SpeechWindow(delay=1, window=12, rate=5.0),
        SpeechWindow(delay=1, window=10, rate=5.0, sinks=2),
        SpeechWindow(delay=1, window=3, rate=5.0, sinks=40),
        SpeechWindow(delay=50, window=1, rate=5.0),
    ],
)
def test_speech_window_when_budget_covers_all_then_full(rule: SpeechWindow) -> None:
    for step in range(1, 51):
        assert rule.select_speech(at_step(step)) == ((0, 12),)


@pytest.mark.parametrize("rows", [3, 12, 40])
def test_speech_window_when_rows_differ_in_length_then_each_by_its_own(rows: int) -> None:
    rule = SpeechWindow(delay=3, window=6, rate=1.7, sinks=1)
    for step in range(1, 60):
        wanted = kept_speech(step, rows, 3, 6, 1.7, 1)
        assert set(entries(rule.select_speech(RowView(step, rows, step)))) == wanted


@pytest.mark.parametrize(("sinks", "window"), [(2, 3), (0, 1), (0, 5), (4, 1), (3, 60)])
def test_output_window_when_decoding_then_closed_form_and_within_budget(
    sinks: int, window: int
) -> None:
    rule = OutputWindow(sinks, window)
    for step in range(1, 51):
        kept = entries(rule.select_output(at_step(step)))
        assert set(kept) == kept_output(step, sinks, window)
        assert kept == sorted(kept)
        assert kept[-1] == step - 1
        assert len(kept) == min(step, sinks + window)


# Prompt 4, no speech: sinks 2 lie in the prompt, so the last 3 of the output stay (closed form).
@pytest.mark.parametrize("step", range(1, 51))
def test_streaming_when_only_output_then_last_entries(step: int) -> None:
    rule = StreamingWindow(sinks=2, window=3)
    row = RowView(step, 0, step, prompt_entries=4)
    assert entries(rule.select_output(row)) == [j for j in range(step) if j >= step - 3]
    assert rule.select_speech(row) == ()


# Prompt 2, speech 6, sinks 4, window 5: speech entries 0, 1 are sinks; the window of the row
# leaves the speech behind as the output grows.
STREAMING = {
    1: ([0, 1, 2, 3, 4, 5], [0]),
    2: ([0, 1, 3, 4, 5], [0, 1]),
    4: ([0, 1, 5], [0, 1, 2, 3]),
    5: ([0, 1], [0, 1, 2, 3, 4]),
    7: ([0, 1], [2, 3, 4, 5, 6]),
}


@pytest.mark.parametrize("step", STREAMING)
def test_streaming_when_output_grows_then_hand_example(step: int) -> None:
    rule = StreamingWindow(sinks=4, window=5)
    row = RowView(step, 6, step, prompt_entries=2)
    read = (entries(rule.select_speech(row)), entries(rule.select_output(row)))
    assert read == STREAMING[step]


@pytest.mark.parametrize("prompt", [0, 1, 6])
@pytest.mark.parametrize("sinks", [0, 3, 15, 40])
def test_streaming_when_decoding_then_first_and_last_of_the_whole_row(
    prompt: int, sinks: int
) -> None:
    rule = StreamingWindow(sinks, window=9)
    for step in range(1, 50):
        row = RowView(step, 10, step, prompt_entries=prompt)
        read = (set(entries(rule.select_speech(row))), set(entries(rule.select_output(row))))
        assert read == kept_streaming(step, prompt, 10, sinks, 9)


def test_streaming_when_a_suffix_follows_the_speech_then_it_counts_as_recent() -> None:
    rule = StreamingWindow(sinks=0, window=10)
    # Window 10 = 3 of output, 5 of suffix, 2 of speech.
    assert rule.select_speech(RowView(3, 8, 3, prompt_entries=1, suffix_entries=5)) == ((6, 8),)


def test_defaults_when_at_the_papers_rates_then_its_setting() -> None:
    rule = SpeechWindow.defaults_for(PAPER_RATES)
    assert (rule.delay, rule.window, rule.sinks) == (512, 1024, 0)
    assert rule.rate == pytest.approx(1.0)
    assert OutputWindow() == OutputWindow(4, 1024)


def test_defaults_when_requests_are_short_then_same_share_of_a_request() -> None:
    rule = SpeechWindow.defaults_for(WHISPER_LIKE)
    # A tenth of 300 s: delay 512/9/10 s at 7 tokens/s, window 1024/7.5/10 s at 50 entries/s.
    assert rule.delay == 40
    assert rule.window == 683
    # (1/7.5)/(1/9) = 1.2 s of audio for each second of output: 1.2 * 50 / 7 entries a token.
    assert rule.rate == pytest.approx(60 / 7)


@pytest.mark.parametrize("name", POLICIES)
def test_registry_when_default_then_newest_entry_is_read_and_selection_is_legal(
    name: str,
) -> None:
    policy = build_policy(name, {}, WHISPER_LIKE)
    assert policy.name == name
    for step in (1, 2, 41, 42, 300, 5000):
        selection = policy.select(RowView(step, 1500, step, prompt_entries=3))
        # None: an index chooses.
        assert (selection.speech is None) == (retrieval_of(policy) is not None)
        for ranges, end in ((selection.speech or (), 1500), (selection.output, step)):
            listed = entries(ranges)
            assert listed == sorted(set(listed))
            assert set(listed) <= set(range(end))
        assert entries(selection.output)[-1] == step - 1


def test_registry_when_backend_has_a_tail_sink_then_every_speech_rule_keeps_it() -> None:
    for name in ("speech", "both", "align", "align+output"):
        rule = build_policy(name, {}, WHISPER_LIKE).speech
        assert rule.tail_sinks == 128  # type: ignore[attr-defined]  # of these four


def test_need_when_policy_does_not_follow_attention_then_none() -> None:
    asking = {name for name in POLICIES if build_policy(name, {}, WHISPER_LIKE).focus_need}
    assert asking == {"align", "align+output"}
