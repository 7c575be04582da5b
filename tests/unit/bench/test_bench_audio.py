from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.bench.bench_audio import BenchAudio, Spoken, read_bench_audio, read_rttm, read_stm
from murmur_cli.errors import UsageError

STM = """;; comment
talk 1 Bea 4.0 6.0 <o,f0,male> second text
talk 1 Abe 0.5 1.5 first
talk 1 Abe 8.0 9.0
"""
RTTM = "SPEAKER talk 1 1.000 5.000 <NA> <NA> Abe <NA> <NA>\nSPKR-INFO x\n"


def audio() -> BenchAudio:
    spoken = (Spoken(0.5, 1.5, "Abe", "first"), Spoken(4.0, 6.0, "Bea", "second"))
    samples = np.arange(160_000, dtype=np.float32) / 160_000
    return BenchAudio("talk", samples, spoken, (Spoken(1.0, 6.0, "Abe"),))


def test_stm_when_read_then_texts_in_order_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "talk.stm"
    path.write_text(STM)
    assert read_stm(path) == (
        Spoken(0.5, 1.5, "Abe", "first"),
        Spoken(4.0, 6.0, "Bea", "second text"),
        Spoken(8.0, 9.0, "Abe", ""),
    )


@pytest.mark.parametrize("line", ["talk 1 Abe 0.5", "talk 1 Abe zero 1.0 text"])
def test_stm_when_a_line_is_wrong_then_usage_error_names_it(tmp_path: Path, line: str) -> None:
    path = tmp_path / "talk.stm"
    path.write_text(line)
    with pytest.raises(UsageError, match=r"talk\.stm line 1: not a line of STM"):
        read_stm(path)


def test_rttm_when_read_then_turns_have_ends(tmp_path: Path) -> None:
    path = tmp_path / "talk.rttm"
    path.write_text(RTTM)
    assert read_rttm(path) == (Spoken(1.0, 6.0, "Abe"),)
    path.write_text("SPEAKER talk 1 1.0\n")
    with pytest.raises(UsageError, match="not a line of RTTM"):
        read_rttm(path)


def test_excerpt_when_cut_then_text_goes_by_its_middle_and_turns_are_cut() -> None:
    cut = audio().excerpt(2.0, 3.5)
    assert cut.duration_s == pytest.approx(3.5)
    assert cut.samples[0] == pytest.approx(0.2)
    assert cut.spoken == (Spoken(2.0, 4.0, "Bea", "second"),)
    assert cut.turns == (Spoken(0.0, 3.5, "Abe"),)


def test_excerpt_when_the_start_is_past_the_end_then_the_beginning() -> None:
    cut = audio().excerpt(30.0, 2.0)
    assert cut.duration_s == pytest.approx(2.0)
    assert cut.spoken == (Spoken(0.5, 1.5, "Abe", "first"),)
    assert audio().excerpt(4.0, 0.0).duration_s == pytest.approx(6.0)


def test_times_when_repeated_then_audio_follows_itself() -> None:
    twice = audio().times(2)
    assert twice.duration_s == pytest.approx(20.0)
    assert np.array_equal(twice.samples[160_000:], twice.samples[:160_000])
    assert twice.spoken is None


def test_audio_when_read_then_references_beside_it_are_taken(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "talk.wav", np.zeros(16_000, dtype=np.float32) + 0.1, 16_000)
    (tmp_path / "talk.stm").write_text(STM)
    (one,) = read_bench_audio([tmp_path / "talk.wav"])
    assert one.duration_s == pytest.approx(1.0)
    assert one.spoken is not None
    assert one.turns is None
    written = one.write(tmp_path / "..")
    assert soundfile.info(written).samplerate == 16_000
    written.unlink()


def test_audio_when_none_or_two_of_a_name_then_usage_error() -> None:
    with pytest.raises(UsageError, match="no audio"):
        read_bench_audio([])
    with pytest.raises(UsageError, match="two recordings of one name"):
        read_bench_audio([Path("a/talk.wav"), Path("b/talk.flac")])
