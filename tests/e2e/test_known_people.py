"""Known voices and channels on the real two-speaker conversation that pyannote.audio ships."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.types import TimeSpan
from support.murmur_call import call_main
from support.panned import with_bleed

pytestmark = pytest.mark.embedded

RATE_HZ = 16_000
WORDS = 83
"""In the hand-made transcript beside the sample."""


@pytest.fixture
def turns(sample_wav: Path) -> list[tuple[TimeSpan, str]]:
    """Who talks when, from the hand-made RTTM."""
    rows = [line.split() for line in sample_wav.with_suffix(".rttm").read_text().splitlines()]
    return [
        (TimeSpan(float(row[3]), float(row[3]) + float(row[4])), row[7])
        for row in rows
        if row[0] == "SPEAKER"
    ]


def _alone(turns: list[tuple[TimeSpan, str]], speaker: str, length: int) -> np.ndarray:
    """Samples in which one speaker talks and nobody else."""
    mine, others = np.zeros(length, np.bool_), np.zeros(length, np.bool_)
    for span, who in turns:
        mask = mine if who == speaker else others
        mask[round(span.start_s * RATE_HZ) : round(span.end_s * RATE_HZ)] = True
    return mine & ~others


def _json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def test_diarize_when_a_clip_of_one_of_them_is_known_then_that_one_has_the_name(
    sample_wav: Path,
    turns: list[tuple[TimeSpan, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    samples, _ = sf.read(sample_wav, dtype="float32")
    person = turns[0][1]
    # The clip is her first half; the rest of the recording has to be told by the voice.
    alone = _alone(turns, person, len(samples))
    first = np.flatnonzero(alone)[: int(alone.sum()) // 2]
    sf.write(tmp_path / "clip.wav", samples[first], RATE_HZ)
    voices = tmp_path / "voices.json"
    called = call_main(capsys, "enroll", f"Jane Roe={tmp_path / 'clip.wav'}", "-o", voices)
    assert called.code == 0, called.err
    called = call_main(capsys, "diarize", sample_wav, "--enroll", voices, "-o", tmp_path)
    assert called.code == 0, called.err
    document = _json(tmp_path / "sample.json")
    assert sorted(row["speaker"] for row in document["speakers"]) in (
        ["Jane Roe", "SPEAKER_00"],
        ["Jane Roe", "SPEAKER_01"],
    )
    talked: Counter[str] = Counter()
    for turn in document["turns"]:
        if turn["speaker"] == "Jane Roe":
            for span, who in turns:
                talked[who] += span.overlap_s(TimeSpan(turn["start_s"], turn["end_s"]))
    assert talked[person] > 0.8 * talked.total()
    similarity = {row["known"]: row["similarity"] for row in document["enrolment"]["speakers"]}
    assert similarity[True] > 0.5 > similarity[False]


def test_transcribe_when_each_has_a_channel_with_bleed_then_nothing_is_said_twice(
    sample_wav: Path,
    turns: list[tuple[TimeSpan, str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    samples, _ = sf.read(sample_wav, dtype="float32")
    one, other = (
        np.where(_alone(turns, who, len(samples)), samples, np.float32(0))
        for who in dict.fromkeys(who for _, who in turns)
    )
    sf.write(tmp_path / "call.wav", with_bleed(one, other, -20.0), RATE_HZ)
    called = call_main(capsys, "transcribe", tmp_path / "call.wav")
    assert called.code == 0, called.err
    document = _json(tmp_path / "call.json")
    assert document["audio"]["mix"] == "split"
    channel = {row["speaker"]: row["channel"] for row in document["speakers"]}
    assert set(channel.values()) == {1, 2}
    said = {1: "", 2: ""}
    for segment in document["segments"]:
        said[channel[segment["speaker"]]] += segment["text"].lower() + " "
    # Each names the place where they are; how a name is spelt is the recogniser's affair.
    assert "new jersey" in said[1]
    assert "texas" in said[2]
    assert "texas" not in said[1]
    assert "new jersey" not in said[2]
    # What both say at once is cut out here, so there are fewer words than in the sample.
    assert 0.7 * WORDS < sum(len(text.split()) for text in said.values()) < 1.1 * WORDS
