"""References of the other corpora, from files in their forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile

from data import earnings21_nlp, librispeech_long, mls_long, tedlium_stm
from murmur_cli.errors import UsageError
from murmur_cli.scoring.sources import read_side

RATE_HZ = 16_000


def test_tedlium_when_converted_then_contractions_are_joined_and_noises_dropped() -> None:
    line = "Talk 1 Talk 17.8 28.8 <o,f0,male> i 'm <unk> sure it 's what they 'll say"
    assert tedlium_stm.converted(line) == "Talk 1 Talk 17.8 28.8 i'm sure it's what they'll say"


def test_tedlium_when_a_stretch_is_not_scored_then_it_stays_marked(tmp_path: Path) -> None:
    source = tmp_path / "T.stm"
    source.write_text(
        ";; comment\n"
        "T 1 inter_segment_gap 0 9.5 <o,,unknown> ignore_time_segment_in_scoring\n"
        "T 1 T 9.5 12.0 <o,f0,male> hello there\n"
    )
    made = tedlium_stm.write_references(source, tmp_path / "made")
    session = read_side([made]).sessions["T"]
    assert [one.text for one in session.utterances or ()] == ["hello there"]
    assert [(one.start_s, one.end_s) for one in session.ignored] == [(0.0, 9.5)]


def test_tedlium_when_a_line_is_short_then_refused() -> None:
    with pytest.raises(UsageError, match="not a line"):
        tedlium_stm.converted("T 1 T 9.5")


NLP = """token|speaker|ts|endTs|punctuation|case|tags|wer_tags
Good|0||||UC|[]|[]
"quoted"|0|||,|LC|[]|[]
Thanks|12|||.|UC|[]|[]
2020|12||||CA|['0:YEAR']|['0']
So|0||||UC|[]|[]
"""


def test_earnings21_when_written_then_a_turn_for_each_run_of_a_speaker(tmp_path: Path) -> None:
    source = tmp_path / "4320211.nlp"
    source.write_text(NLP)
    made = earnings21_nlp.write_references(source, tmp_path / "made")
    assert made.read_text("utf-8").splitlines() == [
        f";; {earnings21_nlp.NOTE}",
        '4320211 1 speaker_0 0.000 1.000 Good "quoted"',
        "4320211 1 speaker_12 1.000 2.000 Thanks 2020",
        "4320211 1 speaker_0 2.000 3.000 So",
    ]


def test_earnings21_when_a_column_is_missing_then_refused(tmp_path: Path) -> None:
    source = tmp_path / "x.nlp"
    source.write_text("word|ts\nGood|1\n")
    with pytest.raises(UsageError, match="token, speaker"):
        earnings21_nlp.read_tokens(source)


def tone(path: Path, seconds: float) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, np.full(round(seconds * RATE_HZ), 0.1, np.float32), RATE_HZ)
    return path


def test_librispeech_long_when_text_is_beside_it_or_in_a_list_then_found(tmp_path: Path) -> None:
    chapter = tmp_path / "test-clean" / "61" / "70968"
    first, second = tone(chapter / "61-70968-0.flac", 1.5), tone(chapter / "61-70968-1.flac", 1.0)
    (chapter / "61-70968-0.txt").write_text("HE BEGAN\nA CONFUSED COMPLAINT\n")
    (chapter / "61-70968.trans.txt").write_text("61-70968-10 NOT THIS\n61-70968-1 GIVE NOT SO\n")
    assert librispeech_long.recordings(tmp_path / "test-clean") == [first, second]
    assert librispeech_long.text_of(second) == "GIVE NOT SO"
    made = librispeech_long.write_references(first, tmp_path / "made")
    assert made.read_text("utf-8") == "61-70968-0 1 61 0.000 1.500 HE BEGAN A CONFUSED COMPLAINT\n"
    with pytest.raises(UsageError, match="no text"):
        librispeech_long.text_of(tone(chapter / "61-70968-2.flac", 0.1))


def test_mls_long_when_grouped_then_one_book_and_five_minutes_at_most() -> None:
    """200 + 0.5 + 99.5 s fill five minutes exactly; another 0.1 s would not fit."""
    lengths = {"1_7_000000": 200.0, "1_7_000001": 99.5, "1_7_000002": 0.1, "1_8_000000": 9.0}
    assert list(mls_long.groups(lengths)) == [
        ("1_7_000000", "1_7_000001"),
        ("1_7_000002",),
        ("1_8_000000",),
    ]


def test_mls_long_when_prepared_then_utterances_lie_half_a_second_apart(tmp_path: Path) -> None:
    source = tmp_path / "test"
    for number, seconds in enumerate((1.0, 2.0)):
        tone(source / "audio" / "1" / "7" / f"1_7_00000{number}.flac", seconds)
    (source / "transcripts.txt").write_text("1_7_000000\tguten tag\n1_7_000001\tauf wiedersehen\n")
    assert mls_long.prepare(source, tmp_path / "audio", tmp_path / "refs") == ["1_7_000000"]
    assert soundfile.info(tmp_path / "audio" / "1_7_000000.flac").duration == 3.5
    assert (tmp_path / "refs" / "1_7_000000.stm").read_text("utf-8").splitlines() == [
        "1_7_000000 1 1 0.000 1.000 guten tag",
        "1_7_000000 1 1 1.500 3.500 auf wiedersehen",
    ]
