"""TimestampRules against transformers' own processor: the same tokens stay allowed."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from support.tiny_whisper import (
    END,
    ENTRIES,
    NO_TIMES,
    PROMPT,
    TIMES_BEGIN,
    VOCABULARY,
    tiny_tokens,
)

TOKENS = tiny_tokens()
TEXT = st.integers(0, 255)
TIMES = st.integers(TIMES_BEGIN, TIMES_BEGIN + ENTRIES)
HISTORY = st.lists(st.one_of(TEXT, TIMES), max_size=8)


def allowed_by_transformers(logits: torch.Tensor, outputs: list[list[int]]) -> torch.Tensor:
    from transformers import GenerationConfig
    from transformers.generation import (
        SuppressTokensLogitsProcessor,
        WhisperTimeStampLogitsProcessor,
    )

    facts = GenerationConfig(
        eos_token_id=END, no_timestamps_token_id=NO_TIMES, max_initial_timestamp_index=50
    )
    suppress = SuppressTokensLogitsProcessor(list(TOKENS.suppressed))
    stamps = WhisperTimeStampLogitsProcessor(facts, begin_index=len(PROMPT))
    rows = []
    for row, output in enumerate(outputs):
        ids = torch.tensor([[*PROMPT, *output]])
        rows.append(stamps(ids, suppress(ids, logits[row : row + 1].clone())))
    return torch.cat(rows) > -torch.inf


@settings(deadline=None, max_examples=60)
@given(
    outputs=st.lists(HISTORY, min_size=1, max_size=4),
    seed=st.integers(0, 10_000),
    times_bias=st.sampled_from([-8.0, -3.0, 0.0, 3.0]),
)
def test_rules_when_any_history_then_same_tokens_allowed_as_transformers(
    outputs: list[list[int]], seed: int, times_bias: float
) -> None:
    logits = torch.randn(len(outputs), VOCABULARY, generator=torch.Generator().manual_seed(seed))
    logits[:, TIMES_BEGIN:] += times_bias
    wanted = allowed_by_transformers(logits, outputs)
    kept = logits.clone()
    TimestampRules(TOKENS).restrict(logits, outputs)
    found = logits > -torch.inf
    assert torch.equal(found, wanted)
    assert found.any(dim=1).all()
    assert torch.equal(logits[found], kept[found])
