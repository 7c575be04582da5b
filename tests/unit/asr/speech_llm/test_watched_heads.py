"""What watched heads leave behind, on tiny models of every family, against their probabilities."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Finished
from murmur_cli.engine.speech_peaks import REACH
from support.tiny_speech_llms import TINY_FAMILIES, TinyFamily
from support.tiny_speech_llms.tiny_family import engine_output

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


@functools.cache
def built(name: str) -> TinyFamily:
    return TINY_FAMILIES[name]()


def watched(
    tiny: TinyFamily, *, evict: str, options: dict[str, str], slots: int = 2, steps: int = 1
) -> dict[str, Finished]:
    family = tiny.family
    decoder = SpeechLlmDecoder(family, tiny.max_audio_s, steps_ahead=steps, watch=True)
    policy = build_policy(evict, options, family.traits.rates(300.0))
    engine = DecodeEngine(decoder, policy, FamilyRule(family), slots)
    engine.submit(tiny.requests())
    done: dict[str, Finished] = {}
    while engine.busy:
        done |= {finished.request.key: finished for finished in engine.step()}
    engine.close()
    return done


POLICIES: list[tuple[str, dict[str, str]]] = [
    ("none", {}),
    ("both", {"delay": "2", "speech_window": "4", "output_window": "6"}),
    ("c3r", {"budget": "6"}),
    ("quest", {"budget": "6", "page": "2", "least_pages": "1"}),
    ("snapkv", {"budget": "6"}),
]


CASES = [(name, *POLICIES[0]) for name in sorted(TINY_FAMILIES)] + [
    (name, evict, options) for name in ("gemma4", "vibevoice") for evict, options in POLICIES[1:]
]


@pytest.mark.parametrize(("name", "evict", "options"), CASES)
def test_peaks_are_those_of_the_probabilities_and_tokens_stay(
    name: str, evict: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = built(name)
    plain = engine_output(tiny, tiny.requests(), slots=2, evict=evict, options=options)
    done = watched(tiny, evict=evict, options=options)
    assert {key: one.tokens for key, one in done.items()} == {
        key: one.tokens for key, one in plain.items()
    }
    heads = next(one.peaks.heads for one in done.values() if one.peaks is not None)
    monkeypatch.setattr(type(tiny.family), "probe_heads", heads)
    dense = engine_output(tiny, tiny.requests(), slots=2, evict=evict, options=options)
    for key, one in done.items():
        whole = dense[key].attention
        assert (one.peaks is None) == (whole is None) == (not one.tokens)
        if one.peaks is None or whole is None:
            continue
        assert one.peaks.places.shape == (len(one.tokens), len(heads))
        seen = whole.astype(np.float32)
        near = one.peaks.near[:, :, REACH]
        np.testing.assert_allclose(near, seen.max(axis=2), atol=2e-3)
        np.testing.assert_allclose(one.peaks.on_speech, seen.sum(axis=2), atol=2e-2)
        at = np.take_along_axis(seen, one.peaks.places[:, :, None], axis=2)[:, :, 0]
        np.testing.assert_allclose(at, near, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "steps"), [("gemma4", 2), ("vibevoice", 5), ("granite_speech", 3)]
)
def test_peaks_when_steps_run_ahead_then_those_of_single_steps(name: str, steps: int) -> None:
    tiny = built(name)
    options = {"delay": "2", "speech_window": "4", "output_window": "6"}
    single = watched(tiny, evict="both", options=options, slots=3)
    ahead = watched(tiny, evict="both", options=options, slots=3, steps=steps)
    for key, one in single.items():
        other = ahead[key]
        assert other.tokens == one.tokens
        if one.peaks is None:
            assert other.peaks is None
            continue
        assert other.peaks is not None
        assert other.peaks.heads == one.peaks.heads
        np.testing.assert_allclose(
            other.peaks.near[:, :, REACH], one.peaks.near[:, :, REACH], atol=1e-4
        )
        np.testing.assert_allclose(other.peaks.on_speech, one.peaks.on_speech, atol=1e-4)


@pytest.mark.parametrize(
    ("steps", "watch", "is_watched"),
    [(1, None, True), (1, False, False), (4, None, False), (4, True, True)],
)
def test_watching_when_left_open_then_only_where_no_steps_run_ahead(
    steps: int, watch: bool | None, is_watched: bool
) -> None:
    tiny = built("vibevoice")
    decoder = SpeechLlmDecoder(tiny.family, tiny.max_audio_s, steps_ahead=steps, watch=watch)
    engine: Any = DecodeEngine(
        decoder,
        build_policy("none", {}, tiny.family.traits.rates(300.0)),
        FamilyRule(tiny.family),
        2,
    )
    engine.submit(tiny.requests())
    done: list[Finished] = []
    while engine.busy:
        done += engine.step()
    assert any(one.peaks is not None for one in done) == is_watched
