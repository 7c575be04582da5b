"""The engine's invariants (ARCHITECTURE.md) on a random Whisper in float32."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from murmur_cli.asr.whisper.decoder import WhisperDecoder, WindowSource
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.model_adapter import StepOutput, StepRow
from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.policies.registry import POLICIES, build_policy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.regions import Range
from murmur_cli.engine.request import Finished, Request
from murmur_cli.types import SampleSpan
from support.dense_whisper import greedy_with_masks, kept_output, kept_speech, kept_streaming
from support.tiny_whisper import (
    ENTRIES,
    PROMPT,
    START,
    AnyToken,
    chirp,
    tiny_tokens,
    tiny_whisper,
)

RATES = RequestRates(50.0, 7.0, 2.0, has_alignment_heads=True)
STEPS = 40
WINDOWS = 6
END = 207
"""A token that this model chooses now and then: rows end at different steps."""

# 'joint' is for a rule of both regions; the speech rules take those of the values that they have.
SMALL = {
    "speech": {
        "window": 20, "delay": 3, "sinks": 2, "tail_sinks": 6,
        "before": 9, "after": 12, "max_spread": 1000, "min_mass": 0, "budget": 40, "page": 4,
    },
    "output": {"window": 5, "sinks": 2},
    "joint": {"window": 70, "sinks": 9},
}  # fmt: skip
COVERING = {
    "speech": {"window": ENTRIES, "before": ENTRIES, "after": ENTRIES, "budget": ENTRIES},
    "output": {"window": STEPS},
    "joint": {"window": len(PROMPT) + ENTRIES + STEPS},
}

Budget = dict[str, dict[str, int]]

POSITIONAL = [
    name
    for name in POLICIES
    if (policy := build_policy(name, {}, RATES)).focus_need is None and retrieval_of(policy) is None
]
"""Policies whose kept sets follow from the step alone."""


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_whisper(seed=0)


@pytest.fixture(scope="module")
def encoded(model: Any) -> torch.Tensor:
    """Encoder states of six windows, (windows, entries, width)."""
    return WhisperDecoder(model, tiny_tokens()).encode([chirp(seed) for seed in range(WINDOWS)])


def policy_with(name: str, budget: Budget) -> EvictionPolicy:
    """The policy of that name with the budget's values for the options that its rules have."""
    plain = build_policy(name, {}, RATES)
    if plain.speech is plain.output:
        return build_policy(name, {k: str(v) for k, v in budget["joint"].items()}, RATES)
    options = {
        f"{region}_{key}": str(value)
        for region in ("speech", "output")
        for key, value in budget[region].items()
        if any(field.name == key for field in dataclasses.fields(getattr(plain, region)))
    }
    assert options or name == "none", f"give policy {name} a budget in this test"
    return build_policy(name, options, RATES)


class WatchedDecoder(WhisperDecoder):
    """Notes the rows of every step; `before` and `after` are called around it."""

    def __init__(self, model: Any, end: int = END) -> None:
        super().__init__(model, tiny_tokens(end=end))
        self.steps: list[list[StepRow]] = []
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[Sequence[StepRow]], None] = lambda rows: None

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        self.steps.append(list(rows))
        self.before()
        output = super().step(rows)
        self.after(rows)
        return output


def request(
    number: int, prompt: tuple[int, ...] = PROMPT, audio_s: float = 1.0, limit: int = STEPS
) -> Request:
    samples = chirp(number)
    source = WindowSource(samples, (SampleSpan(0, len(samples)),))
    return Request(str(number), source, prompt, audio_s, limit)


def decode(
    adapter: WhisperDecoder, requests: Sequence[Request], slots: int, policy: EvictionPolicy
) -> dict[str, Finished]:
    engine = DecodeEngine(adapter, policy, AnyToken(), slots)
    engine.submit(requests)
    done: dict[str, Finished] = {}
    while engine.busy:
        done |= {finished.request.key: finished for finished in engine.step()}
    return done


def library_tokens(model: Any, windows: Sequence[int], prompt: tuple[int, ...]) -> list[list[int]]:
    """What transformers' own greedy generate gives for windows, without the end token."""
    from transformers import GenerationMixin

    sources = [chirp(window) for window in windows]
    features = torch.stack(
        [WhisperDecoder(model, tiny_tokens())._encoder.features(s) for s in sources]
    )
    # Whisper's own `generate` wraps this one with its rules for timestamps and long audio.
    output = GenerationMixin.generate(
        model,
        features,
        attention_mask=torch.ones(len(windows), features.shape[2]),
        decoder_input_ids=torch.tensor([prompt] * len(windows)),
        max_new_tokens=STEPS,
        do_sample=False,
        eos_token_id=END,
        pad_token_id=END,
    )
    rows = [row[len(prompt) :] for row in output.tolist()]
    return [row[: row.index(END)] if END in row else row for row in rows]


# --- 1. none = the library's own greedy decoding -------------------------------------------------


@pytest.mark.parametrize("slots", [1, 2, 4, WINDOWS])
def test_none_when_batched_or_joining_late_then_tokens_of_generate(model: Any, slots: int) -> None:
    wanted = library_tokens(model, range(WINDOWS), PROMPT)
    assert len({len(row) for row in wanted}) >= 4  # rows end at different steps
    done = decode(
        WatchedDecoder(model),
        [request(n) for n in range(WINDOWS)],
        slots,
        build_policy("none", {}, RATES),
    )
    assert [list(done[str(n)].tokens) for n in range(WINDOWS)] == wanted


def test_none_when_prompts_differ_in_length_then_tokens_of_generate(model: Any) -> None:
    prompts = [PROMPT, (START,), (*PROMPT, 70, 80, 90), PROMPT, (*PROMPT, 9), (START,)]
    done = decode(
        WatchedDecoder(model),
        [request(n, prompt) for n, prompt in enumerate(prompts)],
        3,
        build_policy("none", {}, RATES),
    )
    for n, prompt in enumerate(prompts):
        assert list(done[str(n)].tokens) == library_tokens(model, [n], prompt)[0]


# --- 2. and 3. budgets that cover everything; neighbours ----------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_policy_when_budget_covers_everything_then_same_as_none(model: Any, name: str) -> None:
    requests = [request(n) for n in range(WINDOWS)]
    wanted = decode(WatchedDecoder(model), requests, 3, build_policy("none", {}, RATES))
    done = decode(WatchedDecoder(model), requests, 3, policy_with(name, COVERING))
    for key, finished in wanted.items():
        assert done[key].tokens == finished.tokens
        assert done[key].kv == finished.kv


@pytest.mark.parametrize("name", POLICIES)
def test_row_when_in_a_churning_batch_then_same_as_alone(model: Any, name: str) -> None:
    policy = policy_with(name, SMALL)
    shapes = [(3.0, 40), (1.0, 7), (2.0, 31), (2.5, 12), (0.5, 40), (9.0, 3)]
    prompts = [PROMPT, (START,), PROMPT, (*PROMPT, 70, 80), PROMPT, PROMPT]
    requests = [request(n, prompts[n], audio_s, limit) for n, (audio_s, limit) in enumerate(shapes)]
    together = decode(WatchedDecoder(model), requests, 3, policy)
    for one in requests:
        alone = decode(WatchedDecoder(model), [one], 1, policy)[one.key]
        assert together[one.key].tokens == alone.tokens
        assert together[one.key].stop == alone.stop
        assert together[one.key].kv == alone.kv
        np.testing.assert_allclose(together[one.key].logprobs, alone.logprobs, atol=1e-4)
        assert together[one.key].attention is not None
        np.testing.assert_allclose(
            together[one.key].attention,
            alone.attention,
            atol=1e-3,  # float16
        )


def test_attention_when_recorded_then_that_of_the_librarys_heads(model: Any) -> None:
    finished = decode(WatchedDecoder(model), [request(0)], 1, build_policy("none", {}, RATES))["0"]
    features = WhisperDecoder(model, tiny_tokens())._encoder.features(chirp(0))[None]
    ids = torch.tensor([[*PROMPT, *finished.tokens]])
    eager = tiny_whisper(seed=0)
    eager.set_attn_implementation("eager")  # the one that hands its probabilities out
    with torch.inference_mode():
        output = eager(features, decoder_input_ids=ids, output_attentions=True)
    # Position p gives the token after it; the probes are heads 0 and 2 of the second layer.
    places = slice(len(PROMPT) - 1, len(PROMPT) - 1 + len(finished.tokens))
    wanted = output.cross_attentions[1][0, [0, 2], places].transpose(0, 1)
    assert finished.attention is not None
    np.testing.assert_allclose(finished.attention, wanted, atol=1e-3)  # float16


@pytest.mark.parametrize("name", ["c3", "c3r"])
def test_attention_when_speech_is_stored_in_another_order_then_in_the_order_of_time(
    model: Any, name: str
) -> None:
    options = {"budget": str(ENTRIES - 3)}
    wanted = decode(WatchedDecoder(model), [request(0)], 1, build_policy("none", {}, RATES))["0"]
    found = decode(WatchedDecoder(model), [request(0)], 1, build_policy(name, options, RATES))["0"]
    assert wanted.attention is not None
    assert found.attention is not None
    # Row 0 is of the prompt, which reads everything; row 1 of a step, which leaves three out.
    np.testing.assert_allclose(found.attention[0], wanted.attention[0], atol=1e-3)  # float16
    np.testing.assert_allclose(found.attention[1], wanted.attention[1], atol=0.03)
    assert float(wanted.attention[:2].max()) > 0.2


# --- 4. what a step touches -----------------------------------------------------------------------


def test_step_when_run_then_writes_one_entry_a_row_and_layer(model: Any) -> None:
    adapter = WatchedDecoder(model)
    before: dict[str, torch.Tensor] = {}
    places: list[int] = []

    def note() -> None:
        assert adapter._self is not None
        assert adapter._cross is not None
        for name, arena in (("self", adapter._self), ("cross", adapter._cross)):
            before[f"{name} keys"] = arena.keys.clone()
            before[f"{name} values"] = arena.values.clone()

    def compare(rows: Sequence[StepRow]) -> None:
        assert adapter._self is not None
        assert adapter._cross is not None
        assert torch.equal(adapter._cross.keys, before["cross keys"])
        assert torch.equal(adapter._cross.values, before["cross values"])
        for now, old in (
            (adapter._self.keys, before["self keys"]),
            (adapter._self.values, before["self values"]),
        ):
            changed = (now.nan_to_num(nan=-99.0) != old.nan_to_num(nan=-99.0)).any(4).any(2)
            for layer in range(2):
                found = changed[layer].nonzero().tolist()
                slots = [slot for slot, _ in found]
                # A refilled slot may by chance be given the very numbers that it held.
                assert len(set(slots)) == len(slots)
                assert set(slots) <= {row.slot for row in rows}
                places.extend(place for _, place in found)

    policy = policy_with("both", SMALL)
    engine = DecodeEngine(adapter, policy, AnyToken(), 3)
    engine.open()
    assert adapter._self is not None
    # What was never written must never be read: it would turn every logit into NaN.
    adapter._self.keys.fill_(float("nan"))
    adapter._self.values.fill_(float("nan"))
    adapter.before, adapter.after = note, compare
    engine.submit([request(n) for n in range(WINDOWS)])
    finished = [row for _ in range(300) if engine.busy for row in engine.step()]
    assert len(finished) == WINDOWS
    assert all(np.isfinite(row.logprobs).all() for row in finished)
    # The prompt, 2 sinks and a window of 5: nothing beyond was ever used.
    # Keys and values of two layers make four for each token that was fed.
    assert len(places) > 3 * sum(len(row.tokens) for row in finished)
    assert max(places) == len(PROMPT) + 2 + 5 - 1
    assert adapter._self.keys[:, :, :, len(PROMPT) + 7 :].isnan().all()


@pytest.mark.parametrize("name", POSITIONAL)
def test_usage_when_decoded_then_counted_by_the_definitions(model: Any, name: str) -> None:
    done = decode(
        WatchedDecoder(model), [request(n) for n in range(3)], 2, policy_with(name, SMALL)
    )
    for finished in done.values():
        # The step that feeds token t is step t; the last token of a row that ran out is not fed.
        steps = len(finished.tokens) - (finished.stop != "end")
        kept = [kept_sets(name)(step) for step in range(1, steps + 1)]
        speech = sum(len(speech_set) for speech_set, _ in kept)
        output = sum(len(output_set) + len(PROMPT) for _, output_set in kept)
        assert finished.kv.steps == steps
        assert finished.kv.speech_entries_read == speech
        assert finished.kv.output_entries_read == output
        assert finished.kv.speech_entries_held == steps * ENTRIES
        assert finished.kv.output_entries_held == steps * len(PROMPT) + steps * (steps + 1) // 2
        # Key and value of width 32 in 2 layers, 4 bytes a number.
        assert finished.kv.bytes_read == (speech + output) * 2 * 32 * 2 * 4


# --- 5. and 6. what is read is what the definition says -----------------------------------------


def kept_sets(name: str) -> Callable[[int], tuple[set[int], set[int]]]:
    """The small budget of a policy, entry by entry."""
    rate = RATES_PER_STEP
    speech = partial(
        kept_speech, entries=ENTRIES, delay=3, window=20, rate=rate, sinks=2, tail_sinks=6
    )
    output = partial(kept_output, sinks=2, window=5)

    def full_speech(step: int) -> set[int]:
        return set(range(ENTRIES))

    def full_output(step: int) -> set[int]:
        return set(range(step))

    chosen: dict[str, Callable[[int], tuple[set[int], set[int]]]] = {
        "none": lambda step: (full_speech(step), full_output(step)),
        "output": lambda step: (full_speech(step), output(step)),
        "speech": lambda step: (speech(step), full_output(step)),
        "both": lambda step: (speech(step), output(step)),
        "streaming": partial(
            kept_streaming, prompt=len(PROMPT), entries=ENTRIES, sinks=9, window=70
        ),
    }
    assert set(chosen) == set(POSITIONAL), "give the new policy its sets"
    return chosen[name]


# 1.2 s of audio pass for each second of output: 1.2 * 50 / 7 entries a step.
RATES_PER_STEP = ((1 / 7.5) / (1 / 9.0)) * 50.0 / 7.0


@pytest.mark.parametrize("name", POSITIONAL)
def test_policy_when_budget_is_small_then_tokens_of_masked_recomputation(
    model: Any, encoded: torch.Tensor, name: str
) -> None:
    done = decode(
        WatchedDecoder(model), [request(n) for n in range(WINDOWS)], 4, policy_with(name, SMALL)
    )
    full = [greedy_with_masks(model, encoded[n], PROMPT, STEPS, END) for n in range(WINDOWS)]
    masked = [
        greedy_with_masks(model, encoded[n], PROMPT, STEPS, END, kept_sets(name))
        for n in range(WINDOWS)
    ]
    assert [list(done[str(n)].tokens) for n in range(WINDOWS)] == masked
    assert (masked != full) == (name != "none")


@pytest.mark.parametrize("name", POSITIONAL)
def test_selection_when_rows_are_at_different_steps_then_each_by_its_own_step(
    model: Any, name: str
) -> None:
    adapter = WatchedDecoder(model)
    decode(adapter, [request(n) for n in range(WINDOWS)], 3, policy_with(name, SMALL))
    assert any(len({row.output_entries for row in rows}) > 1 for rows in adapter.steps)
    for rows in adapter.steps:
        for row in rows:
            speech, output = kept_sets(name)(row.output_entries)
            assert listed(row.selection.speech) == sorted(speech)
            assert listed(row.selection.output) == sorted(output)


def listed(ranges: tuple[Range, ...]) -> list[int]:
    return [j for start, end in ranges for j in range(start, end)]
