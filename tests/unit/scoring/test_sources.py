"""Which file a session's words and turns come from."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from murmur_cli.errors import UsageError
from murmur_cli.scoring.sources import find_files, read_references, read_side
from murmur_cli.types import TimeSpan
from murmur_cli.writers.registry import WRITERS
from support.factories import make_segment, make_transcript, make_turn


def _write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text, "utf-8")
    return folder


def test_files_when_a_folder_is_given_then_known_formats_below_it(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / ".hidden").mkdir()
    _write(tmp_path, a__stm="", a__wav="", words__tsv="")
    _write(tmp_path / "deep", b__seglst__json="[]", _b__rttm="")
    _write(tmp_path / ".hidden", c__stm="")
    names = [path.name for path in find_files([tmp_path])]
    assert names == ["a.stm", "_b.rttm", "b.seglst.json"]


def test_files_when_a_pattern_is_given_then_folders_give_only_what_matches(tmp_path: Path) -> None:
    _write(tmp_path, a__clean__stm="", a__stm="", a__rttm="")
    assert [path.name for path in find_files([tmp_path], "*.clean.stm")] == ["a.clean.stm"]
    with pytest.raises(UsageError, match=r"matches '\*\.ctm'"):
        find_files([tmp_path], "*.ctm")


def test_files_when_a_path_is_missing_or_of_no_format_then_it_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, talk__docx="")
    with pytest.raises(UsageError, match="no such file"):
        find_files([tmp_path / "b.stm"])
    with pytest.raises(UsageError, match="no known format"):
        find_files([tmp_path / "talk.docx"])


def test_side_when_all_formats_of_one_run_are_there_then_stm_and_rttm_are_taken(
    tmp_path: Path,
) -> None:
    transcript = make_transcript(
        [make_segment("so it is", 1.0, 2.0, speaker="SPEAKER_00")],
        turns=(make_turn(0.5, 2.5, "SPEAKER_00"),),
        session_id="2024.05.01 call",
    )
    for writer in WRITERS.values():
        path = tmp_path / f"2024.05.01 call{writer.extension}"
        path.write_text(writer.render(transcript), "utf-8")
    side = read_side(find_files([tmp_path]))
    assert list(side.sessions) == ["2024.05.01 call"]
    one = side.sessions["2024.05.01 call"]
    assert (one.words_from, one.turns_from) == ("stm", "rttm")
    assert one.utterances is not None
    assert [spoken.text for spoken in one.utterances] == ["so it is"]
    assert one.turns is not None
    assert one.turns[0].span == TimeSpan(0.5, 2.5)
    assert (side.unreadable, side.unused) == ((), ())


def test_side_when_two_texts_hold_a_session_then_the_one_named_after_it(tmp_path: Path) -> None:
    _write(tmp_path, s__clean__stm="s 1 A 0 1 clean\n", s__stm="s 1 A 0 1 plain\n")
    side = read_side(find_files([tmp_path]))
    assert side.sessions["s"].utterances[0].text == "plain"  # type: ignore[index]
    assert len(side.unused) == 1
    assert "s.clean.stm" in side.unused[0]


def test_side_when_two_files_have_an_equal_claim_then_it_is_refused(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        _write(tmp_path / name, s__stm="s 1 A 0 1 x\n")
    with pytest.raises(UsageError, match=r"'s' is in .*one/s\.stm and in .*two/s\.stm"):
        read_side(find_files([tmp_path / "one", tmp_path / "two"]))


def test_side_when_one_file_holds_many_sessions_then_each_is_there(tmp_path: Path) -> None:
    _write(tmp_path, all__stm="a 1 A 0 1 x\nb 1 A 0 1 y\n", all__rttm="")
    side = read_side(find_files([tmp_path / "all.stm"]))
    assert list(side.sessions) == ["a", "b"]
    assert [one.file_stem for one in side.sessions.values()] == [None, None]


def test_side_when_no_file_has_turns_then_utterances_stand_for_them(tmp_path: Path) -> None:
    _write(tmp_path, s__stm="s 1 A 0 1 x\ns 1 B 1 1 y\n")
    one = read_side(find_files([tmp_path])).sessions["s"]
    assert one.turns_from == "stm"
    assert [(turn.speaker, turn.span) for turn in one.turns or ()] == [("A", TimeSpan(0.0, 1.0))]


def test_side_when_a_file_cannot_be_read_then_it_is_told_with_its_reason(tmp_path: Path) -> None:
    _write(tmp_path, a__stm="a 1 A\n", b__json="{", c__rttm="SPEAKER c 1 x 1 <NA> <NA> A\n")
    (tmp_path / "d.ctm").write_bytes(b"\xff\xfe")
    side = read_side(find_files([tmp_path]))
    assert [one.stem for one in side.unreadable] == ["a", "b", "c", "d"]
    reasons = [one.reason.removeprefix(str(tmp_path)) for one in side.unreadable]
    assert reasons[0].startswith("/a.stm: line 1 has 3 fields")
    assert reasons[3] == "/d.ctm: not UTF-8 (byte 0)"


def test_side_when_a_folder_has_json_of_something_else_then_it_is_passed_over(
    tmp_path: Path,
) -> None:
    _write(tmp_path, summary__json='{"files": 3}', s__stm="s 1 A 0 1 x\n")
    side = read_side(find_files([tmp_path]))
    assert (list(side.sessions), side.unreadable) == (["s"], ())
    named = tmp_path / "summary.json"
    assert len(read_side([named], chosen=frozenset([named])).unreadable) == 1


def test_side_when_plain_json_is_a_list_then_it_is_seglst(tmp_path: Path) -> None:
    row = '[{"session_id": "s", "speaker": "A", "start_time": 0, "end_time": 1, "words": "x"}]'
    _write(tmp_path, hyp__json=row)
    assert read_side([tmp_path / "hyp.json"]).sessions["s"].words_from == "seglst"


def test_files_when_a_folder_in_it_cannot_be_read_then_it_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies in it would count as left out."""
    (tmp_path / "deep").mkdir()
    _write(tmp_path, a__stm="")
    scandir = os.scandir

    def locked(path: str) -> object:
        if str(path).endswith("deep"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", locked)
    with pytest.raises(UsageError, match=r"deep: cannot be read \(Permission denied\)"):
        find_files([tmp_path])


def test_files_when_one_side_lies_below_the_other_then_each_has_its_own(tmp_path: Path) -> None:
    """Otherwise turns of the hypothesis would be taken for those of the reference."""
    (tmp_path / "out").mkdir()
    _write(tmp_path, s__stm="", t__stm="")
    _write(tmp_path / "out", s__json="")

    def names(*apart: Path) -> list[str]:
        return [path.name for path in find_files([tmp_path], apart=apart)]

    assert names(tmp_path / "out") == ["s.stm", "t.stm"]
    assert names(tmp_path / "out" / "s.json", tmp_path / "t.stm") == ["s.stm"]
    assert names(tmp_path, tmp_path.parent, tmp_path / "o") == ["s.json", "s.stm", "t.stm"]


def test_files_when_a_name_is_too_long_for_the_disk_then_there_is_no_such_file() -> None:
    with pytest.raises(UsageError, match="no such file or folder"):
        find_files([Path("x" * 300 + ".stm")])


def test_references_when_one_cannot_be_read_then_all_are_refused(tmp_path: Path) -> None:
    _write(tmp_path, a__stm="a 1 A\n", b__stm="b 1 A 0 1 so\n")
    with pytest.raises(UsageError, match=r"reference .*a\.stm: line 1 has 3 fields"):
        read_references([tmp_path])
    assert list(read_references([tmp_path], "b.*").sessions) == ["b"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"s 1 A 0 1 so\r\ns 1 B 1 2 yes\rs 1 A 2 3 no\n", None),
        (b"\xef\xbb\xbfs 1 A 0 1 so\r\ns 1 B 1 2 yes\ns 1 A 2 3 no", None),
        ("s 1 A 0 1 so\n".encode("utf-16"), "not UTF-8 (byte 0)"),
        ("s 1 A 0 1 caf\xe9\n".encode("latin-1"), "not UTF-8 (byte 13)"),
        (b"\x1f\x8b\x08\x00rest", "not UTF-8 (byte 1)"),
    ],
)
def test_side_when_line_ends_marks_and_encodings_are_odd_then_read_or_refused(
    content: bytes, reason: str | None, tmp_path: Path
) -> None:
    (tmp_path / "s.stm").write_bytes(content)
    side = read_side([tmp_path / "s.stm"])
    if reason is None:
        assert [one.text for one in side.sessions["s"].utterances or ()] == ["so", "yes", "no"]
    else:
        assert [one.reason for one in side.unreadable] == [f"{tmp_path}/s.stm: {reason}"]
