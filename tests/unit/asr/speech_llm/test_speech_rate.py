"""Words a second that speech can and cannot have."""

from __future__ import annotations

import pytest

from murmur_cli.asr.speech_llm.speech_rate import RateFault, rate_fault

MANY, FEW = RateFault.TOO_MANY, RateFault.TOO_FEW


@pytest.mark.parametrize(
    ("texts", "speech_s", "fault"),
    [
        (["word " * 70], 10.0, None),
        (["word " * 71], 10.0, MANY),
        (["word " * 40, "word " * 31], 10.0, MANY),
        (["好" * 140], 10.0, None),
        (["好" * 141], 10.0, MANY),
        (["word " * 10], 0.0, None),
        (["word " * 9], 20.0, FEW),
        (["word " * 10], 20.0, None),
        (["word " * 9], 19.9, None),
        (["好" * 19], 20.0, FEW),
        ([], 300.0, None),
        (["  "], 300.0, None),
    ],
)
def test_rate_by_hand(texts: list[str], speech_s: float, fault: RateFault | None) -> None:
    assert rate_fault(texts, speech_s) is fault
