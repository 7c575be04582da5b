"""The embedded Whisper base on real speech: the library's tokens, and times near the reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch

from murmur_cli.asr.whisper.decoder import WhisperDecoder, WindowSource
from murmur_cli.asr.whisper.log_mel import LogMel
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.timestamp_rules import TimestampRules
from murmur_cli.asr.whisper.tokens import WhisperTokens, load_tokens
from murmur_cli.asr.whisper.window_output import read_output
from murmur_cli.asr.window_time import WindowTime
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Finished, Request, StopReason
from murmur_cli.types import SampleSpan, Word

pytestmark = pytest.mark.embedded

# From the first word of the conversation to the end of the file.
PIECE = SampleSpan(round(6.58 * 16_000), 480_000)


@pytest.fixture(scope="module")
def tokens(whisper_base_folder: Path) -> WhisperTokens:
    return load_tokens(whisper_base_folder)


@pytest.fixture(scope="module")
def model(whisper_base_folder: Path) -> Any:
    from transformers import WhisperForConditionalGeneration
    from transformers.utils import logging

    logging.disable_progress_bar()
    return WhisperForConditionalGeneration.from_pretrained(
        whisper_base_folder, dtype=torch.float32, local_files_only=True
    ).eval()


@pytest.fixture(scope="module")
def source(sample_wav: Path) -> WindowSource:
    samples, _ = soundfile.read(sample_wav, dtype="float32")
    return WindowSource(samples, (PIECE,))


@pytest.fixture(scope="module")
def finished(model: Any, tokens: WhisperTokens, source: WindowSource) -> Finished:
    engine = DecodeEngine(
        WhisperDecoder(model, tokens),
        build_policy("none", {}, WHISPER_RATES),
        TimestampRules(tokens),
        1,
    )
    engine.submit([Request("w", source, tokens.prompt("en", "transcribe"), 23.4, 224)])
    done = [row for _ in range(224) if engine.busy for row in engine.step()]
    assert len(done) == 1
    return done[0]


def test_tokens_when_greedy_with_timestamps_then_those_of_transformers(
    model: Any, source: WindowSource, finished: Finished
) -> None:
    features = LogMel(80, 480_000)(source.audio)[None]
    found = model.generate(
        features,
        return_timestamps=True,
        language="en",
        task="transcribe",
        do_sample=False,
        num_beams=1,
    )
    wanted = found[0].tolist()
    assert finished.stop is StopReason.END
    assert len(finished.tokens) > 80
    # The library goes on with what it takes for the rest of the 30 s; this is one request.
    assert tuple(wanted[: len(finished.tokens)]) == finished.tokens


# First words of the lines of sample.stm that are easy to hear, and the lines' starts.
LINES = {"This": 12.54, "And": 14.44, "Well,": 21.94, "At": 24.06}
"""Words that occur once in the transcript."""


def test_words_when_timed_then_near_the_reference(
    finished: Finished, tokens: WhisperTokens
) -> None:
    output = read_output(finished, WindowTime((PIECE,)), (PIECE,), tokens, "en")
    words = [word for stretch in output.stretches for word in stretch.words]
    for text, start_s in LINES.items():
        assert abs(only(words, text).span.start_s - start_s) < 0.4, text
    starts = [word.span.start_s for word in words]
    assert starts == sorted(starts)
    assert words[0].span.start_s >= 6.5
    assert words[-1].span.end_s <= 30.0
    durations = np.array([word.span.duration_s for word in words])
    assert (durations >= 0).all()
    assert 0.1 < np.median(durations) < 0.5
    assert durations.max() < 2.0


def only(words: list[Word], text: str) -> Word:
    (found,) = (word for word in words if word.text == text)
    return found
