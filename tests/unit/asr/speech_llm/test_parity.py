"""Every SpeechLLM family on the engine against the library's own greedy `generate`, float32."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest
import torch

from murmur_cli.engine.policies.registry import RETRIEVAL
from murmur_cli.engine.request import Finished
from support.tiny_speech_llms import TINY_FAMILIES, TinyFamily
from support.tiny_speech_llms.tiny_family import engine_output

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


@functools.cache
def built(name: str) -> TinyFamily:
    return TINY_FAMILIES[name]()


@functools.cache
def reference(name: str) -> dict[str, list[int]]:
    tiny = built(name)
    return {request.key: tiny.generate([request])[0] for request in tiny.requests()}


@pytest.fixture(params=sorted(TINY_FAMILIES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def tokens_of(done: dict[str, Finished]) -> dict[str, list[int]]:
    return {key: list(finished.tokens) for key, finished in done.items()}


def test_reference_is_varied(name: str) -> None:
    outputs = reference(name)
    assert len({tuple(output) for output in outputs.values()}) > 1
    assert max(len(set(output)) for output in outputs.values()) > 3


@pytest.mark.parametrize("slots", [1, 2, 4])
def test_tokens_equal_generate_at_any_number_of_slots(name: str, slots: int) -> None:
    tiny = built(name)
    assert tokens_of(engine_output(tiny, tiny.requests(), slots=slots)) == reference(name)


def test_tokens_equal_generate_of_a_padded_batch(name: str) -> None:
    """Padding moves the speech region in the library's batch; ours has none."""
    tiny = built(name)
    first = tiny.requests()[1]
    batch = [
        replace(first, key=text, prompt=(*map(ord, text), *first.prompt)) for text in ("a", "bcd")
    ]
    done = engine_output(tiny, batch, slots=2)
    assert [list(done[request.key].tokens) for request in batch] == tiny.generate(batch)


@pytest.mark.parametrize(
    ("evict", "options"),
    [
        ("output", {"window": "64"}),
        ("speech", {"delay": "64"}),
        ("speech", {"window": "2000"}),
        ("speech", {"window": "2000", "right_edge": "true"}),
        ("both", {"speech_window": "2000", "output_window": "64"}),
        ("streaming", {"window": "4000"}),
        *((name, {"budget": "4000"}) for name in RETRIEVAL),
        ("c3r+output", {"budget": "4000", "window": "64"}),
    ],
)
def test_a_covering_budget_equals_none(name: str, evict: str, options: dict[str, str]) -> None:
    tiny = built(name)
    done = engine_output(tiny, tiny.requests(), slots=2, evict=evict, options=options)
    assert tokens_of(done) == reference(name)


@pytest.mark.parametrize(
    ("evict", "options"),
    [
        ("output", {"window": "6", "sinks": "2"}),
        ("speech", {"delay": "2", "window": "4", "rate": "1"}),
        ("both", {"delay": "2", "speech_window": "4", "output_window": "6"}),
        ("streaming", {"window": "12", "sinks": "2"}),
        *((name, {"budget": "6"}) for name in RETRIEVAL),
        ("c3r+output", {"budget": "0.5", "output_window": "6", "output_sinks": "2"}),
        ("quest", {"budget": "6", "page": "2", "least_pages": "1", "remainder": "true"}),
        ("clusterkv", {"budget": "6", "cluster": "3", "remainder": "true", "refresh": "3"}),
        ("h2o", {"budget": "6", "warm_up": "2"}),
    ],
)
def test_tokens_of_a_row_do_not_depend_on_the_batch(
    name: str, evict: str, options: dict[str, str]
) -> None:
    tiny = built(name)
    alone = {
        request.key: list(
            engine_output(tiny, [request], slots=1, evict=evict, options=options)[
                request.key
            ].tokens
        )
        for request in tiny.requests()
    }
    assert (
        tokens_of(engine_output(tiny, tiny.requests(), slots=3, evict=evict, options=options))
        == alone
    )


def test_evicted_entries_are_not_read(name: str) -> None:
    """Entries that a policy leaves out may hold anything: NaN there changes nothing."""
    tiny = built(name)
    request = max(tiny.requests(), key=lambda request: request.audio_s)
    options = {"delay": "0", "window": "4", "rate": "1000"}
    done = engine_output(tiny, [request], slots=1, evict="speech", options=options)
    usage = done[request.key].kv
    assert 0 < usage.speech_entries_read < usage.speech_entries_held
    assert torch.isfinite(torch.tensor(done[request.key].logprobs)).all()
