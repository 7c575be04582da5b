"""SpeechLLMs with their speech in host memory: the tokens are those without it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.request import Finished
from murmur_cli.engine.speech_offload import Traffic
from support.tiny_speech_llms import TINY_FAMILIES, TinyFamily

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

C3R = ("c3r", {"budget": "6", "granularity": "2", "leaf": "1"})
OTHERS = [
    ("c3+output", {"budget": "6", "output_window": "6", "output_sinks": "2"}),
    ("quest", {"budget": "6", "page": "2", "least_pages": "1", "remainder": "true"}),
    ("snapkv", {"budget": "6"}),
    ("h2o", {"budget": "6"}),
]


def decoded(
    tiny: TinyFamily, evict: str, options: dict[str, str], *, offloads: bool
) -> tuple[dict[str, Finished], Traffic]:
    policy = build_policy(evict, options, tiny.family.traits.rates(300.0))
    decoder = SpeechLlmDecoder(tiny.family, tiny.max_audio_s, watch=True, offloads=offloads)
    engine = DecodeEngine(decoder, policy, FamilyRule(tiny.family), 2)
    engine.submit(tiny.requests())
    done: dict[str, Finished] = {}
    while engine.busy:
        done |= {finished.request.key: finished for finished in engine.step()}
    traffic = decoder.offload_traffic
    engine.close()
    return done, traffic


@pytest.mark.parametrize(
    ("name", "evict", "options"),
    [
        *((name, *C3R) for name in sorted(TINY_FAMILIES)),
        # One kind of layer, and several with windows and shared caches among them.
        *((name, *case) for name in ("vibevoice", "gemma4") for case in OTHERS),
    ],
)
def test_tokens_when_speech_is_offloaded_then_the_same_as_without(
    name: str, evict: str, options: dict[str, str]
) -> None:
    tiny = TINY_FAMILIES[name]()
    there, none = decoded(tiny, evict, options, offloads=False)
    away, traffic = decoded(tiny, evict, options, offloads=True)
    assert none == Traffic()
    assert 0 < traffic.fetched <= traffic.read
    for key, finished in there.items():
        assert away[key].tokens == finished.tokens
        assert away[key].logprobs == pytest.approx(finished.logprobs, abs=1e-4)
        # Layers that share a cache choose for themselves; each is counted where it is brought.
        read, expected = away[key].kv.speech_entries_read, finished.kv.speech_entries_read
        assert read == pytest.approx(expected, rel=0.05)
        if finished.peaks is None:
            assert away[key].peaks is None
        else:
            assert away[key].peaks is not None
            assert away[key].peaks.near == pytest.approx(finished.peaks.near, abs=1e-4)


def test_bytes_when_planned_then_the_device_has_no_more_than_what_is_read() -> None:
    tiny = TINY_FAMILIES["vibevoice"]()
    policy = build_policy("c3", {"budget": "4"}, tiny.family.traits.rates(300.0))
    rule = retrieval_of(policy)
    decoder = SpeechLlmDecoder(tiny.family, 40.0, offloads=True)
    decoder.open(2, 50, None, rule)
    found = decoder.offload_bytes
    places, entry = decoder.max_speech_entries, decoder.bytes_per_token
    # Four entries of every slot, their map, and one layer of one row that a prompt may bring.
    layers = len(tiny.family.layers)
    heads = tiny.family.layers[0].kv_heads
    assert found.device == 2 * 4 * entry + 2 * heads * 5 * 4 + places * entry // layers
    assert found.host > 2 * places * entry
    kept = 2 * places * tiny.family.text_config.hidden_size * 4
    assert decoder.planned_bytes(2, 50, rule) == 2 * 50 * entry + kept + found.device + found.host
    decoder.close()


def test_requests_when_within_the_budget_then_all_of_their_speech_is_brought_once() -> None:
    tiny = TINY_FAMILIES["vibevoice"]()
    there, _ = decoded(tiny, "c3", {"budget": "4000"}, offloads=False)
    away, traffic = decoded(tiny, "c3", {"budget": "4000"}, offloads=True)
    assert {key: one.tokens for key, one in away.items()} == {
        key: one.tokens for key, one in there.items()
    }
    heads = sum(kind.kv_heads for kind in tiny.family.layers)
    entries = sum(one.kv.speech_entries_held // one.kv.steps for one in there.values())
    assert traffic.fetched == heads * entries
    assert replace(traffic, fetched=0).read > traffic.fetched
