"""A corpus as its owner lays it out -> audio and references in two folders, for each kind."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import soundfile

from data.corpus import Corpus, read_corpus
from data.fetch import FetchError
from data.prepare import prepare
from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.scoring.sources import read_references
from support.media_files import RATE_HZ, tone

NITE = 'xmlns:nite="http://nite.sourceforge.net/"'


def _corpus(name: str, *sessions: str) -> Corpus:
    """A shipped corpus with another test list."""
    return dataclasses.replace(read_corpus(name)[1], sessions=sessions)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")


def _sound(path: Path, seconds: float = 1.0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(path, tone(seconds), RATE_HZ)


def _said(references: Path) -> dict[str, list[str]]:
    return {
        name: [one.text for one in session.utterances or ()]
        for name, session in read_references([references]).sessions.items()
    }


def _write_ami(source: Path, meeting: str) -> None:
    _write(
        source / "corpusResources" / "meetings.xml",
        f'<r {NITE}><meeting observation="{meeting}">'
        '<speaker nxt_agent="A" global_name="FEE005"/></meeting></r>',
    )
    _write(
        source / "words" / f"{meeting}.A.words.xml",
        f'<r {NITE}><w nite:id="w0" starttime="1" endtime="2">Okay</w></r>',
    )
    _write(
        source / "segments" / f"{meeting}.A.segments.xml",
        f'<r {NITE}><segment transcriber_start="1" transcriber_end="2">'
        '<nite:child href="words.xml#id(w0)"/></segment></r>',
    )


@pytest.mark.parametrize("name", ["ami-ihm", "ami-sdm"])
def test_ami_when_prepared_then_words_turns_and_audio_of_the_list(
    name: str, tmp_path: Path
) -> None:
    _write_ami(tmp_path / "source", "XX1000a")
    _sound(tmp_path / "audio" / "XX1000a.wav")
    _sound(tmp_path / "audio" / "YY1000a.wav")
    _write(tmp_path / "references" / "old.stm", "old 1 A 0 1 of an earlier list\n")
    made = prepare(_corpus(name, "XX1000a"), tmp_path)
    assert made.sessions == ("XX1000a",)
    assert [path.name for path in made.audio] == ["XX1000a.wav"]
    assert _said(made.references) == {"XX1000a": ["Okay"]}
    assert (made.references / "XX1000a.rttm").read_text("utf-8").split()[7] == "FEE005"


def test_ami_when_audio_is_not_there_then_the_session_stays_in_the_list(tmp_path: Path) -> None:
    _write_ami(tmp_path / "source", "XX1000a")
    made = prepare(_corpus("ami-ihm", "XX1000a"), tmp_path)
    assert (made.sessions, made.audio, made.missing) == (("XX1000a",), (), ("XX1000a",))


def test_tedlium_when_prepared_then_the_talks_of_the_list_without_copies(tmp_path: Path) -> None:
    test = tmp_path / "source" / "TEDLIUM_release-3" / "legacy" / "test"
    for talk in ("A_2009", "B_2010"):
        _write(test / "stm" / f"{talk}.stm", f"{talk} 1 {talk} 0 1 <o,f0,male> it 's me\n")
        (test / "sph").mkdir(exist_ok=True)
        (test / "sph" / f"{talk}.sph").write_bytes(b"NIST_1A")
    made = prepare(_corpus("tedlium3", "A_2009"), tmp_path)
    assert [path.name for path in made.audio] == ["A_2009.sph"]
    assert made.audio[0].is_symlink()
    assert _said(made.references) == {"A_2009": ["it's me"]}
    # A second call finds what it made.
    assert prepare(_corpus("tedlium3", "A_2009"), tmp_path) == made


def test_earnings21_when_prepared_then_every_call_with_a_table(tmp_path: Path) -> None:
    root = tmp_path / "source" / "speech-datasets" / "earnings21"
    _write(root / "transcripts" / "nlp_references" / "4320211.nlp", "token|speaker\nGood|0\n")
    _sound(root / "media" / "4320211.wav")
    made = prepare(_corpus("earnings21"), tmp_path)
    assert made.sessions == ("4320211",)
    assert [path.name for path in made.audio] == ["4320211.wav"]
    assert _said(made.references) == {"4320211": ["Good"]}


def test_earnings21_when_git_lfs_has_not_fetched_the_audio_then_one_line_says_how(
    tmp_path: Path,
) -> None:
    root = tmp_path / "source" / "speech-datasets" / "earnings21"
    _write(root / "transcripts" / "nlp_references" / "4320211.nlp", "token|speaker\nGood|0\n")
    _write(root / "media" / "4320211.mp3", "version https://git-lfs.github.com/spec/v1\noid 1\n")
    with pytest.raises(FetchError, match=r"4320211\.mp3 is a pointer of Git LFS") as failed:
        prepare(_corpus("earnings21"), tmp_path)
    assert failed.value.exit_code is ExitCode.NOTHING_PROCESSED


def test_ls_long_when_prepared_then_every_recording_of_the_split(tmp_path: Path) -> None:
    chapter = tmp_path / "source" / "librispeech-long" / "test-clean" / "61" / "70968"
    _sound(chapter / "61-70968-0.flac")
    _write(chapter / "61-70968-0.txt", "HE BEGAN\n")
    made = prepare(_corpus("ls-long"), tmp_path)
    assert [path.name for path in made.audio] == ["61-70968-0.flac"]
    assert _said(made.references) == {"61-70968-0": ["HE BEGAN"]}


def test_mls_long_when_prepared_then_joined_recordings(tmp_path: Path) -> None:
    test = tmp_path / "source" / "mls_german_opus" / "test"
    for number in range(2):
        _sound(test / "audio" / "1" / "7" / f"1_7_00000{number}.flac")
    _write(test / "transcripts.txt", "1_7_000000\tguten\n1_7_000001\ttag\n")
    made = prepare(_corpus("mls-long"), tmp_path)
    assert [path.name for path in made.audio] == ["1_7_000000.flac"]
    assert _said(made.references) == {"1_7_000000": ["guten", "tag"]}


@pytest.mark.parametrize("name", ["tedlium3", "earnings21", "ls-long", "mls-long"])
def test_corpus_when_it_is_not_laid_out_so_then_one_line_says_what_is_needed(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / "source").mkdir()
    with pytest.raises(UsageError, match=r"0 of .* in it; one is needed"):
        prepare(_corpus(name, "x"), tmp_path)
