"""Several greedy steps at once, in the form that a CUDA graph holds, against single steps."""

from __future__ import annotations

import functools

import pytest

from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Finished
from support.tiny_speech_llms import TINY_FAMILIES, TinyFamily
from support.tiny_speech_llms.tiny_family import engine_output

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


@functools.cache
def built(name: str) -> TinyFamily:
    return TINY_FAMILIES[name]()


def run_ahead(
    tiny: TinyFamily, steps: int, *, slots: int, evict: str, options: dict[str, str]
) -> tuple[dict[str, Finished], SpeechLlmDecoder]:
    family = tiny.family
    decoder = SpeechLlmDecoder(family, tiny.max_audio_s, steps_ahead=steps)
    policy = build_policy(evict, options, family.traits.rates(300.0))
    engine = DecodeEngine(decoder, policy, FamilyRule(family), slots)
    engine.submit(tiny.requests())
    done: dict[str, Finished] = {}
    while engine.busy:
        done |= {finished.request.key: finished for finished in engine.step()}
    return done, decoder


@pytest.mark.parametrize("name", sorted(TINY_FAMILIES))
@pytest.mark.parametrize(
    ("steps", "evict", "options"),
    [
        (2, "none", {}),
        (5, "both", {"delay": "2", "speech_window": "4", "output_window": "6"}),
        (64, "output", {"window": "6", "sinks": "2"}),
    ],
)
def test_steps_ahead_give_the_same_rows(
    name: str, steps: int, evict: str, options: dict[str, str]
) -> None:
    tiny = built(name)
    one_by_one = engine_output(tiny, tiny.requests(), slots=3, evict=evict, options=options)
    at_once, _ = run_ahead(tiny, steps, slots=3, evict=evict, options=options)
    for key, expected in one_by_one.items():
        assert at_once[key].tokens == expected.tokens
        assert at_once[key].logprobs == pytest.approx(expected.logprobs, abs=1e-4)
        assert (at_once[key].stop, at_once[key].kv) == (expected.stop, expected.kv)


def test_a_cpu_steps_one_by_one() -> None:
    tiny = built("vibevoice")
    decoder = tiny.decoder()
    decoder.open(1, 8, None)
    assert decoder.greedy_steps is None
