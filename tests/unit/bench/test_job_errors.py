"""Errors of recordings, counted by hand, and how they pool."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from murmur_cli.bench.bench_audio import BenchAudio, Spoken
from murmur_cli.bench.contender_process import UNKNOWN, Heard
from murmur_cli.bench.job_errors import error_figures, job_errors, recording_figures
from murmur_cli.bench.scoring import Errors

SILENCE = np.zeros(16_000 * 10, dtype=np.float32)
SPOKEN = (Spoken(0, 2, "A", "one two"), Spoken(2, 4, "B", "three four"))
TURNS = (Spoken(0, 2, "A"), Spoken(2, 4, "B"))
TALK = BenchAudio("talk", SILENCE, SPOKEN, TURNS)


def _word(at_s: float, text: str, speaker: str = UNKNOWN) -> Spoken:
    return Spoken(at_s, at_s + 0.5, speaker, text)


def _said(speakers: Sequence[str]) -> tuple[Spoken, ...]:
    texts = ("one", "two", "three", "four")
    return tuple(
        _word(float(at), text, speaker)
        for at, (text, speaker) in enumerate(zip(texts, speakers, strict=True))
    )


def test_errors_when_one_word_has_the_wrong_speaker_then_two_of_four() -> None:
    found = job_errors(
        TALK, Heard(_said("xxxy"), (Spoken(0, 3, "x"), Spoken(3, 4, "y"))), diarize=True
    )
    assert found.words == Errors(0, 4)
    assert found.speaker_words == found.timed_words == Errors(2, 4)
    assert found.time == Errors(1.0, 4.0)
    assert found.speakers == (2, 2)


def test_errors_when_words_come_late_then_only_the_timed_rate_minds() -> None:
    late = tuple(
        Spoken(one.start_s + 50, one.end_s + 50, one.speaker, one.text) for one in _said("xxyy")
    )
    found = job_errors(TALK, Heard(late, TURNS), diarize=True)
    assert found.speaker_words == Errors(0, 4)
    # All four are missing there and too much here.
    assert found.timed_words == Errors(8, 4)


def test_errors_when_a_peer_knows_no_speakers_of_words_then_its_turns_say() -> None:
    found = job_errors(TALK, Heard(_said((UNKNOWN,) * 4), TURNS), diarize=True)
    assert found.speaker_words == Errors(0, 4)


def test_errors_when_only_speakers_were_found_then_there_are_no_rates_of_words() -> None:
    heard = Heard(None, (Spoken(0, 4, "x"),))
    found = recording_figures(job_errors(TALK, heard, diarize=True))
    assert found["wer_percent"] is None
    assert found["cpwer_percent"] is None
    assert found["tcpwer_percent"] is None
    assert found["der_percent"] == pytest.approx(50.0)
    assert (found["speakers_found"], found["speakers_in_reference"]) == (1, 2)


def test_errors_when_no_speakers_are_wanted_then_words_only() -> None:
    found = job_errors(TALK, Heard(_said("xxyy"), ()), diarize=False)
    assert found.words == Errors(0, 4)
    assert found.time == found.speaker_words == Errors()
    assert found.speakers is None


def test_figures_when_pooled_then_by_counts_and_the_mean_of_speakers_off() -> None:
    bare = BenchAudio("bare", SILENCE, None, None)
    short = BenchAudio("short", SILENCE, SPOKEN[:1], TURNS[:1])
    heard = [
        Heard(_said("xxyy"), TURNS),
        Heard(_said("xxyy"), ()),
        Heard((_word(0, "one", "x"),), (Spoken(0, 1, "x"), Spoken(3, 4, "y"), Spoken(5, 6, "z"))),
    ]
    found = error_figures([TALK, bare, short], heard, diarize=True)
    # 0 of 4 and 1 of 2 words; 0 of 4 and 1 + 2 of 2 seconds; 0 and 2 speakers off.
    assert found["wer_percent"] == pytest.approx(100 / 6)
    assert found["cpwer_minus_wer_percent"] == pytest.approx(0.0)
    assert found["der_percent"] == pytest.approx(100 * 3 / 6)
    assert found["speaker_count_error"] == 1.0
