from __future__ import annotations

from murmur_cli.asr.within_speech import within_speech
from murmur_cli.types import SampleSpan, TimeSpan


def test_within_speech_when_word_hangs_over_then_cut_to_the_speech_it_shares_most() -> None:
    speech = (SampleSpan(16_000, 32_000), SampleSpan(48_000, 64_000))
    assert within_speech(TimeSpan(1.5, 2.8), speech) == TimeSpan(1.5, 2.0)
    assert within_speech(TimeSpan(1.9, 3.5), speech) == TimeSpan(3.0, 3.5)
    assert within_speech(TimeSpan(2.2, 2.6), speech) == TimeSpan(2.2, 2.6)
    assert within_speech(TimeSpan(2.2, 2.6), ()) == TimeSpan(2.2, 2.6)
