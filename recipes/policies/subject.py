"""A model with its material, as the measurements see it, and how the engine decodes it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.loop_guard import LoopGuard
from murmur_cli.engine.model_adapter import DecoderAdapter, TokenRule
from murmur_cli.engine.policies.base import EvictionPolicy, RequestRates
from murmur_cli.engine.request import Finished, Request
from policies.given_tokens import GivenTokens
from policies.run_lines import Line

UNGUARDED = LoopGuard(min_repeats=10**6, min_long_repeats=10**6, min_copied=10**6)
"""As the papers decode: what repeats itself is not cut."""

Head = tuple[int, int]
"""(layer, query head)"""


class Subject(Protocol):
    """A loaded model and what it is asked.

    Attributes:
        name: of the model.
        content_sha256: of its weights and of what it hears.
        rates: with which policies are built.
        heads_are_shared: whether several query heads have one KV head.
        heads: all of them, in the order in which `adapter(all_heads=True)` shows them.
        budgets: at which policies are compared.
    """

    name: str
    content_sha256: str
    rates: RequestRates
    heads_are_shared: bool
    heads: tuple[Head, ...]
    budgets: tuple[int, ...]

    @property
    def requests(self) -> list[Request]:
        """What it is asked, greedily: one request for each stretch."""

    @property
    def rule(self) -> TokenRule:
        """Of decoding."""

    def adapter(self, *, all_heads: bool = False) -> DecoderAdapter:
        """The decoder. all_heads: the attention of every head is recorded."""

    def judge(self, done: Sequence[Finished], full: Line | None) -> Line:
        """Errors against what was said, and against the figures of full attention."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Finished requests in the order asked; CPU seconds of the whole."""

    done: tuple[Finished, ...]
    cpu_s: float


def greedy(
    subject: Subject,
    policy: EvictionPolicy,
    *,
    requests: Sequence[Request] | None = None,
    all_heads: bool = False,
) -> Answers:
    """One answer to each request: the likeliest token at each step, no guard, no second try.

    requests: None: all of the subject's.
    """
    requests = subject.requests if requests is None else requests
    engine = DecodeEngine(
        subject.adapter(all_heads=all_heads), policy, subject.rule, len(requests), guard=UNGUARDED
    )
    return _run(engine, requests)


def given(
    subject: Subject,
    policy: EvictionPolicy,
    requests: Sequence[Request],
    tokens: Sequence[Sequence[int]],
    *,
    all_heads: bool,
) -> Answers:
    """Each request with the output that is given: what a policy reads when nothing drifts.

    tokens: for each request, of one length. Only decode steps are timed, the first left out:
    it loads the speech.
    """
    alike = [
        replace(one, audio_s=requests[0].audio_s, max_new_tokens=len(tokens[0])) for one in requests
    ]
    engine = DecodeEngine(
        subject.adapter(all_heads=all_heads),
        policy,
        GivenTokens(tokens),
        len(alike),
        guard=UNGUARDED,
    )
    answers = _run(engine, alike)
    said = [list(one.tokens) for one in answers.done]
    assert said == [list(one) for one in tokens], "rows were not in the order of their requests"
    return answers


def _run(engine: DecodeEngine, requests: Sequence[Request]) -> Answers:
    done: dict[str, Finished] = {}
    try:
        engine.open()
        assert engine.slots >= len(requests), "too little memory for all requests at a time"
        engine.submit(requests)
        done |= {one.request.key: one for one in engine.step()}
        started_s = time.process_time()
        while engine.busy:
            done |= {one.request.key: one for one in engine.step()}
        cpu_s = time.process_time() - started_s
        failed = engine.take_failed()
    finally:
        engine.close()
    for one in failed:
        raise one.error
    return Answers(tuple(done[request.key] for request in requests), cpu_s)
