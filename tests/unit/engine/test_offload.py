"""`--kv-offload`: the same tokens as without it, what lies where, and what is fetched."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from murmur_cli.asr.whisper.decoder import WhisperDecoder, WindowSource
from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.policies.kv_budget import KvBudget
from murmur_cli.engine.policies.registry import RETRIEVAL, build_policy
from murmur_cli.engine.policies.retrieval import check_offload, retrieval_of
from murmur_cli.engine.request import Finished, Request
from murmur_cli.engine.speech_offload import SpeechOffload, Traffic, offload_bytes
from murmur_cli.errors import UsageError
from murmur_cli.types import SampleSpan
from support.tiny_whisper import ENTRIES, PROMPT, AnyToken, chirp, tiny_tokens, tiny_whisper

CPU = torch.device("cpu")
RATES = RequestRates(50.0, 7.0, 2.0, has_alignment_heads=True)
LLM_RATES = RequestRates(7.5, 9.0, 300.0)
CASES = [
    *((name, {}) for name in RETRIEVAL),
    ("c3", {"remainder": "true"}),
    ("c3r+output", {"output_window": "5", "output_sinks": "2"}),
    ("quest", {"page": "4", "remainder": "true", "refresh": "3"}),
    ("clusterkv", {"cluster": "3", "remainder": "true"}),
    ("c3r", {"budget": ",".join(["0.2", "0.6"] * 2) + ";" + ",".join(["0.5", "0.3"] * 2)}),
]


@pytest.fixture(scope="module")
def model() -> Any:
    return tiny_whisper(seed=0)


def request(number: int, limit: int) -> Request:
    samples = chirp(number)
    source = WindowSource(samples, (SampleSpan(0, len(samples)),))
    return Request(str(number), source, PROMPT, 1.0, limit)


def decode(
    model: Any, policy: EvictionPolicy, *, slots: int, offloads: bool
) -> tuple[dict[str, Finished], WhisperDecoder]:
    decoder = WhisperDecoder(model, tiny_tokens(end=207), offloads=offloads)
    engine = DecodeEngine(decoder, policy, AnyToken(), slots)
    engine.submit([request(number, 8 + 4 * number) for number in range(4)])
    done: dict[str, Finished] = {}
    while engine.busy:
        done |= {finished.request.key: finished for finished in engine.step()}
    return done, decoder


@pytest.mark.parametrize(("name", "options"), CASES)
def test_tokens_when_speech_is_offloaded_then_the_same_as_without(
    model: Any, name: str, options: dict[str, str]
) -> None:
    policy = build_policy(name, {"budget": "40", **options}, RATES)
    there, _ = decode(model, policy, slots=2, offloads=False)
    away, decoder = decode(model, policy, slots=2, offloads=True)
    assert there.keys() == away.keys()
    for key, finished in there.items():
        assert away[key].tokens == finished.tokens
        np.testing.assert_allclose(away[key].logprobs, finished.logprobs, atol=1e-4)
        assert away[key].kv == finished.kv
        assert finished.attention is not None
        assert away[key].attention is not None
        np.testing.assert_allclose(away[key].attention, finished.attention, atol=2e-3)
    traffic = decoder.offload_traffic
    assert 0 < traffic.fetched <= traffic.read


def test_entries_when_chosen_then_only_new_ones_are_fetched_and_all_are_right() -> None:
    torch.manual_seed(0)
    rule = C3(budget=KvBudget(entries=4))
    arena = KvArena(ArenaShape(2, 3, 2, 5 + 4, 8, torch.float32, CPU))
    offload = SpeechOffload(arena, rule, places=12, first_place=5)
    keys = torch.randn(2, 3, 2, 12, 8)
    for layer in range(2):
        for slot in range(3):
            offload.write(layer, slot, keys[layer, slot], -keys[layer, slot])

    def bring(layer: int, chosen: dict[int, list[list[int]]]) -> Traffic:
        before = offload.traffic
        slots = sorted(chosen)
        counts = torch.tensor([[len(head) for head in chosen[slot]] for slot in slots])
        entries = torch.zeros(len(slots), 2, int(counts.max()), dtype=torch.long)
        for row, slot in enumerate(slots):
            for head, listed in enumerate(chosen[slot]):
                entries[row, head, : len(listed)] = torch.tensor(listed, dtype=torch.long)
        offload.bring(layer, slots, entries, counts)
        places, numbers = offload.listed
        for slot in slots:
            for head, listed in enumerate(chosen[slot]):
                assert int(numbers[slot, head]) == len(listed)
                at = places[slot, head, : len(listed)].long()
                assert bool((at >= 5).all())
                assert torch.equal(
                    arena.keys[layer, slot, head, at], keys[layer, slot, head, listed]
                )
                assert torch.equal(
                    arena.values[layer, slot, head, at], -keys[layer, slot, head, listed]
                )
        after = offload.traffic
        return Traffic(after.read - before.read, after.fetched - before.fetched)

    first = {0: [[3, 1, 7, 2], [11]], 2: [[0, 1], [5, 4, 9, 8]]}
    assert bring(1, first) == Traffic(11, 11)
    assert bring(1, first) == Traffic(11, 0)
    # Two of slot 0's first head are new, and the second head's 11 is still there beside a new one.
    assert bring(1, {0: [[3, 7, 10, 6], [11, 0]]}) == Traffic(6, 3)
    # What was pushed out has to come again; what was not chosen in between lies there still.
    assert bring(1, {0: [[1], [11]]}) == Traffic(2, 1)
    assert bring(1, first) == Traffic(11, 1)
    assert bring(0, first) == Traffic(11, 11)
    offload.write(1, 0, keys[1, 0], -keys[1, 0])
    assert bring(1, {0: [[3], [11]]}) == Traffic(2, 2)


def test_bytes_when_planned_then_those_of_what_is_allocated(model: Any) -> None:
    rule = retrieval_of(build_policy("c3r", {"budget": "16"}, RATES))
    assert rule is not None
    decoder = WhisperDecoder(model, tiny_tokens(), offloads=True)
    decoder.open(2, 20, None, rule)
    found = decoder.offload_bytes
    shape = ArenaShape(2, 2, 4, ENTRIES, 8, torch.float32, CPU)
    entry = 2 * 2 * 4 * 8 * 4  # key and value, 2 layers, 4 heads of 8, float32
    assert shape.bytes_per_entry == entry
    groups = -(-ENTRIES // 8)
    groups = -(-groups // 8) * 8
    means, weights = 2 * groups * entry, 2 * 4 * (groups + 1) * 4
    listed = 2 * 4 * (16 + 1) * 4
    staged = 2 * 4 * ENTRIES * 8 * 4
    spread = 2 * 2 * 4 * (groups + 8 * 8) * 4  # deviations and tilts, 2 layers, 2 slots, 4 heads
    assert found.device == 2 * 16 * entry + means + weights + listed + staged + spread
    assert found.host > 2 * ENTRIES * entry
    assert offload_bytes(rule, shape, ENTRIES) == found
    whole = WhisperDecoder(model, tiny_tokens()).planned_bytes(2, 20, rule)
    assert decoder.planned_bytes(2, 20, rule) == found.device + found.host + 2 * 20 * entry
    assert found.device < whole


@pytest.mark.parametrize(
    ("name", "options", "rates", "message"),
    [
        ("none", {}, RATES, "--kv-offload: policy 'none' chooses no entries"),
        ("speech", {}, RATES, "--kv-offload: policy 'speech' chooses no entries"),
        ("voxzip", {"stages": "1"}, LLM_RATES, "--kv-offload: policy 'voxzip' chooses no entries"),
        (
            "h2o",
            {"warm_up": "3"},
            RATES,
            "--kv-offload: h2o reads all of the speech in its first 3",
        ),
        ("voxzip", {"warm_up": "1"}, RATES, "--kv-offload: voxzip reads all of the speech"),
        ("quest", {"dense_layers": "2"}, RATES, "--kv-offload: with dense_layers=2 the first"),
    ],
)
def test_offload_when_a_step_may_read_everything_then_usage_error(
    name: str, options: dict[str, str], rates: RequestRates, message: str
) -> None:
    with pytest.raises(UsageError) as error:
        check_offload(build_policy(name, options, rates))
    assert str(error.value).startswith(message)
    check_offload(build_policy("c3r", {}, rates))
