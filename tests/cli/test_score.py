"""`murmur score` as a user calls it: golden reports, exit codes, and the pitfalls of scoring."""

from __future__ import annotations

import csv
import io
import json
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support.murmur_call import Called, call_main

_GOLDEN = Path(__file__).parent / "golden"
_SHARED = Path(__file__).parents[2] / "../shared/data"

REFERENCES = {
    # Two people; B answers while A still talks.
    "talk.stm": "talk 1 A 0.0 4.0 <o,f0,female> Well, so we begin today.\n"
    "talk 1 B 3.5 5.0 Um, yes we do!\n"
    "talk 1 A 5.0 6.0 good [laughs]\n",
    "talk.rttm": "SPEAKER talk 1 0.0 4.0 <NA> <NA> A <NA> <NA>\n"
    "SPEAKER talk 1 3.5 1.5 <NA> <NA> B <NA> <NA>\n"
    "SPEAKER talk 1 5.0 1.0 <NA> <NA> A <NA> <NA>\n",
    "2024.05.01.call.stm": "2024.05.01.call 1 A 0 2 it costs two pounds\n",
    "2024.05.01.call.rttm": "SPEAKER 2024.05.01.call 1 0 2 <NA> <NA> A <NA> <NA>\n",
    "007.stm": "007 1 A 0 2 nobody <here>\n",
    "007.rttm": "SPEAKER 007 1 0 2 <NA> <NA> A <NA> <NA>\n",
}
HYPOTHESES = {
    # 'so' left out, 'begin' is 'began'; 'good' goes to a third voice.
    "talk.stm": "talk 1 SPEAKER_00 0.0 3.6 well we began today\n"
    "talk 1 SPEAKER_01 3.6 5.0 yes we do\n"
    "talk 1 SPEAKER_02 5.0 6.0 good\n",
    "talk.rttm": "SPEAKER talk 1 0.0 3.5 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    "SPEAKER talk 1 3.5 1.5 <NA> <NA> SPEAKER_01 <NA> <NA>\n"
    "SPEAKER talk 1 5.0 1.0 <NA> <NA> SPEAKER_02 <NA> <NA>\n",
    "2024.05.01.call.stm": "2024.05.01.call 1 SPEAKER_00 0 2 it costs two pounds\n",
    "2024.05.01.call.rttm": "SPEAKER 2024.05.01.call 1 0 2 <NA> <NA> SPEAKER_00 <NA> <NA>\n",
    "007.stm": "007 1 unknown 0.000 2.000\n",
    "007.rttm": "",
}


def _folder(path: Path, files: Mapping[str, str]) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text, "utf-8")
    return path


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Folders of three references and of their hypotheses."""
    return _folder(tmp_path / "ref", REFERENCES), _folder(tmp_path / "hyp", HYPOTHESES)


def _json(called: Called) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(called.out)
    return document


def _percents(called: Called, session_id: str) -> dict[str, float | None]:
    (session,) = (one for one in _json(called)["sessions"] if one["session_id"] == session_id)
    return {name: metric["percent"] for name, metric in session["metrics"].items()}


def _check_golden(name: str, text: str, request: pytest.FixtureRequest) -> None:
    path = _GOLDEN / name
    if request.config.getoption("--refresh-golden"):
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def test_score_when_printed_as_table_then_same_text(
    sides: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    called = call_main(capsys, "score", *sides, "--by-speaker")
    assert (called.code, called.err) == (0, "")
    _check_golden("score_table.txt", called.out, request)


def test_score_when_printed_as_json_then_same_document(
    sides: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    called = call_main(capsys, "score", *sides, "-f", "json")
    text = re.sub(r'("(?:murmur|meeteval|pyannote\.metrics)": )"[^"]+"', r'\1"x"', called.out)
    _check_golden("score_report.json", text, request)


def test_score_when_printed_as_csv_then_same_rows(
    sides: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    called = call_main(capsys, "score", *sides, "-f", "csv")
    _check_golden("score_report.csv", called.out, request)
    rows = list(csv.DictReader(io.StringIO(called.out)))
    # talk: 1 substitution and 1 deletion of 9 words; call: 0 of 4; 007: 1 of 1 left out.
    assert {row["metric"]: row["percent"] for row in rows if row["scope"] == "pooled"}["wer"] == (
        str(round(100 * 3 / 14, 4))
    )


@pytest.mark.parametrize("ending", ["html", "txt"])
def test_score_when_errors_are_to_be_shown_then_same_page(
    ending: str,
    sides: tuple[Path, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    page = tmp_path / f"errors.{ending}"
    assert call_main(capsys, "score", *sides, "--show-errors", page).code == 0
    text = page.read_text("utf-8")
    _check_golden(f"score_errors.{ending}", text, request)
    assert "http" not in text  # the page needs nothing from a network


def test_score_when_counted_by_hand_then_the_same(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    percents = _percents(call_main(capsys, "score", *sides, "-f", "json"), "talk")
    # Nine words: well so we begin today, yes we do, good.
    assert percents["wer"] == pytest.approx(100 * 2 / 9, abs=1e-4)
    # 'good' is left out of A and is all that the third voice says: two errors more.
    assert percents["cpwer"] == pytest.approx(100 * 4 / 9, abs=1e-4)
    assert percents["dicpwer"] == pytest.approx(100 * 2 / 9, abs=1e-4)
    # 6.5 s of speech: A misses 3.5 to 4.0, and 5.0 to 6.0 is another's.
    assert percents["der"] == pytest.approx(100 * 1.5 / 6.5, abs=1e-4)


def test_score_when_there_is_no_network_then_nothing_is_missing(
    sides: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def refuse(*_: object) -> None:
        pytest.fail("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    page = tmp_path / "errors.html"
    called = call_main(capsys, "score", *sides, "-f", "json", "--show-errors", page)
    assert called.code == 0
    assert {"der", "jer", "tcpwer"} <= _json(called)["pooled"]["metrics"].keys()


def test_score_when_a_hypothesis_is_empty_then_all_counts_as_left_out(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    called = call_main(capsys, "score", *sides, "-f", "json")
    percents = _percents(called, "007")
    assert set(percents.values()) == {100.0}
    assert len(percents) == 7


def test_score_when_a_hypothesis_is_missing_then_it_counts_and_is_named(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sides[1].glob("2024*"):
        path.unlink()
    called = call_main(capsys, "score", *sides, "-f", "json")
    assert called.code == 1
    assert called.err == "2024.05.01.call: no hypothesis; all of it counts as left out\n"
    assert set(_percents(called, "2024.05.01.call").values()) == {100.0}
    assert _json(called)["pooled"]["metrics"]["wer"]["errors"] == 2 + 1 + 4


def test_score_when_a_hypothesis_failed_then_it_is_named_and_never_scored_as_empty(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[1] / "talk.stm").write_text("talk 1 SPEAKER_00 nan 1 well\n", "utf-8")
    called = call_main(capsys, "score", *sides, "-f", "json")
    assert called.code == 1
    assert called.err_lines == [
        f"failed: {sides[1]}/talk.stm: line 1 time 'nan' is no number of seconds",
        "talk: not scored, its hypothesis failed",
    ]
    document = _json(called)
    assert (document["pooled"]["sessions"], document["pooled"]["of"]) == (2, 3)
    assert document["pooled"]["metrics"]["wer"]["length"] == 5
    assert _percents(called, "talk") == {}


def test_score_when_every_hypothesis_failed_then_there_are_no_figures(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sides[1].iterdir():
        path.write_text("{", "utf-8")
    called = call_main(capsys, "score", *sides)
    assert (called.code, called.out) == (3, "")
    assert "talk: not scored, its hypothesis failed" in called.err_lines


def test_score_when_no_hypothesis_has_a_reference_then_there_are_no_figures(
    tmp_path: Path, sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    other = _folder(tmp_path / "other", {"else.stm": "else 1 A 0 1 x\n"})
    called = call_main(capsys, "score", sides[0], other)
    assert (called.code, called.out) == (3, "")
    assert "else: no reference, not scored" in called.err_lines


@pytest.mark.parametrize(
    "rttm",
    [
        "SPEAKER talk 1 -0.020 1.000 <NA> <NA> A <NA> <NA>\n",
        "SPEAKER talk 1 1.000 -0.500 <NA> <NA> A <NA> <NA>\n",
        "SPEAKER talk 1 1.000 1.000 <NA>\n",
    ],
)
def test_score_when_an_rttm_is_bad_then_one_line_and_no_traceback(
    rttm: str, sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[1] / "talk.rttm").write_text(rttm, "utf-8")
    called = call_main(capsys, "score", *sides)
    assert called.code == 1
    assert called.err_lines[0].startswith(f"failed: {sides[1]}/talk.rttm: line 1 ")
    assert "Traceback" not in called.err


@pytest.mark.parametrize(
    "name", ["2024.05.01.call", "007", "1505728826.11848331", "1e5", "a b c", "é"]
)
def test_score_when_ids_are_odd_then_they_meet_across_formats(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    field = name.replace(" ", "%20")
    rows = [{"session_id": name, "speaker": "A", "start_time": 0, "end_time": 1, "words": "so"}]
    reference = _folder(
        tmp_path / "ref",
        {
            "all.stm": f"{field} 1 A 0 1 so\n{field}0 1 A 0 1 so\n",
            "all.rttm": f"SPEAKER {field} 1 0 1 <NA> <NA> A <NA> <NA>\n",
            "all.uem": f"{field} 1 0 1\n",
        },
    )
    found = _folder(tmp_path / "hyp", {"x.seglst.json": json.dumps(rows)})
    called = call_main(capsys, "score", reference, found, "-f", "json")
    assert called.err_lines == [
        f"{name}0: no hypothesis; all of it counts as left out",
        f"not in the UEM, scored whole: {name}0",
    ]
    assert _percents(called, name)["tcpwer"] == 0.0
    assert _json(called)["sessions"][0]["region"] == "UEM"


def test_score_when_a_uem_limits_a_session_with_dots_then_words_and_turns_outside_do_not_count(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[1] / "2024.05.01.call.stm").write_text(
        "2024.05.01.call 1 SPEAKER_00 0 2 it costs two pounds\n"
        "2024.05.01.call 1 SPEAKER_00 7 9 and more\n"
    )
    (sides[1] / "2024.05.01.call.rttm").write_text(
        "SPEAKER 2024.05.01.call 1 0 9 <NA> <NA> SPEAKER_00 <NA> <NA>\n"
    )
    uem = tmp_path / "a.uem"
    uem.write_text("2024.05.01.call 1 0.0 2.0\n")
    limited = _percents(
        call_main(capsys, "score", *sides, "-f", "json", "--uem", uem), "2024.05.01.call"
    )
    assert set(limited.values()) == {0.0}
    whole = _percents(call_main(capsys, "score", *sides, "-f", "json"), "2024.05.01.call")
    assert (whole["wer"], whole["der"]) == (50.0, 350.0)


def test_score_when_a_uem_lies_beside_the_references_then_it_counts_unless_refused(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[0] / "talk.uem").write_text("talk 1 0.0 3.0\n")
    called = call_main(capsys, "score", *sides)
    assert "region: whole file (2 sessions), UEM (1 session)" in called.out.splitlines()
    assert called.err == "not in the UEM, scored whole: 007, 2024.05.01.call\n"
    called = call_main(capsys, "score", *sides, "--uem", "none")
    assert "region: whole file (3 sessions)" in called.out.splitlines()
    assert called.err == ""


def test_score_when_cpwer_lets_no_word_cross_speakers_then_half_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = _folder(tmp_path / "ref", {"s.stm": "s 1 A 0 1 the cat\ns 1 B 1 2 sat on\n"})
    found = _folder(tmp_path / "hyp", {"s.stm": "s 1 1 0 1 the cat sat\ns 1 2 1 2 on\n"})
    percents = _percents(call_main(capsys, "score", reference, found, "-f", "json"), "s")
    assert (percents["wer"], percents["cpwer"]) == (0.0, 50.0)


def test_score_when_text_is_japanese_then_characters_are_scored_and_tags_are_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = _folder(tmp_path / "ref", {"s.stm": "s 1 A 0 2 公園へ行こう。\n"})
    found = _folder(tmp_path / "hyp", {"s.stm": "s 1 1 0 2 [Environmental Sounds] 公園に行こう\n"})
    (session,) = _json(call_main(capsys, "score", reference, found, "-f", "json"))["sessions"]
    metric = session["metrics"]["wer"]
    assert (metric["errors"], metric["length"]) == (1, 6)


def test_score_when_there_are_more_than_twenty_speakers_then_scored_and_the_way_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def lines(prefix: str) -> str:
        return "".join(f"s 1 {prefix}{at} {at} {at + 1} word{at} again\n" for at in range(23))

    reference = _folder(tmp_path / "ref", {"s.stm": lines("A")})
    found = _folder(tmp_path / "hyp", {"s.stm": lines("B") + "s 1 C 30 31 more\n"})
    called = call_main(capsys, "score", reference, found)
    assert called.code == 0
    told = called.out.splitlines()
    assert "cpWER: own pairing of speakers (more than MeetEval's 20) (1 session)" in told
    assert "tcpWER: own pairing of speakers (more than MeetEval's 20) (1 session)" in told
    document = _json(call_main(capsys, "score", reference, found, "-f", "json"))
    for name in ("wer", "cpwer", "tcpwer", "orcwer", "dicpwer"):
        metric = document["pooled"]["metrics"][name]
        assert (name, metric["errors"], metric["length"]) == (name, 1, 46)


def test_score_when_only_subtitles_are_there_then_words_speakers_and_turns_are_read(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cues = "1\n00:00:00,000 --> 00:00:02,000\nSPEAKER_00: It costs two pounds.\n\n"
    found = _folder(tmp_path / "srt", {"2024.05.01.call.srt": cues})
    called = call_main(capsys, "score", sides[0] / "2024.05.01.call.stm", found)
    assert called.code == 0
    assert "turns made of utterances: hypothesis (srt), reference (stm)" in called.out.splitlines()


def test_score_when_the_hypothesis_is_a_run_without_diarization_then_its_speech_is_not_missed(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"start_s": 0.0, "end_s": 2.0, "speaker": None, "text": "it costs two pounds"}
    document = {"schema_version": "1.3", "session_id": "x", "segments": [row], "turns": []}
    found = _folder(tmp_path / "json", {"2024.05.01.call.json": json.dumps(document)})
    called = call_main(capsys, "score", sides[0] / "2024.05.01.call.stm", found)
    assert called.out.splitlines()[1].split()[:2] == ["2024.05.01.call", "4"]
    assert set(called.out.splitlines()[1].split()[2:9]) == {"0.0"}
    assert "turns made of utterances: hypothesis (json), reference (stm)" in called.out


def test_score_when_the_hypothesis_is_a_ctm_then_no_metric_needs_its_utterances(
    sides: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = _folder(tmp_path / "ctm", {"talk.ctm": "talk 1 0 1 well\ntalk 1 1 1 so\n"})
    percents = _percents(
        call_main(capsys, "score", sides[0] / "talk.stm", found, "-f", "json"), "talk"
    )
    assert "wer" in percents
    assert "orcwer" in percents
    assert "dicpwer" not in percents
    table = call_main(capsys, "score", sides[0] / "talk.stm", found).out
    assert "no speakers in the words of 1 session: they count as those of one" in table


def test_score_when_hypotheses_are_turns_alone_then_no_words_are_scored(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    for path in sides[1].glob("*.stm"):
        path.unlink()
    called = call_main(capsys, "score", *sides)
    assert called.code == 0
    assert called.out.splitlines()[0].split() == ["session", "words", "DER", "JER", "speakers"]


def test_score_when_one_hypothesis_is_turns_alone_then_its_words_count_and_it_is_named(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[1] / "talk.stm").unlink()
    called = call_main(capsys, "score", *sides, "-f", "json")
    assert called.code == 1
    assert called.err == "talk: no hypothesis of its words; they count as left out\n"
    percents = _percents(called, "talk")
    assert percents["wer"] == 100.0
    assert percents["der"] == pytest.approx(100 * 1.5 / 6.5, abs=1e-4)


def test_score_when_an_id_is_no_text_of_a_terminal_then_it_is_scored_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # A name of a file that is not UTF-8, as STM and as JSON write it.
    reference = _folder(tmp_path / "ref", {"all.stm": "caf%E9 1 A 0 1 so\nb%0Ab 1 A 0 1 so\n"})
    rows = [{"session_id": "caf\udce9", "start_time": 0, "end_time": 1, "words": "so"}]
    found = _folder(tmp_path / "hyp", {"all.seglst.json": json.dumps(rows)})
    called = call_main(capsys, "score", reference, found)
    assert called.code == 1
    assert "caf\\udce9  1      0.0" in called.out
    assert called.err == "b\\nb: no hypothesis; all of it counts as left out\n"
    for report in ("json", "csv"):
        assert "caf\\udce9" in call_main(capsys, "score", reference, found, "-f", report).out


def test_score_when_silence_is_the_reference_then_invented_words_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = _folder(tmp_path / "ref", {"s.stm": "s 1 A 0 9\n", "s.rttm": ""})
    found = _folder(tmp_path / "hyp", {"s.stm": "s 1 1 0 2 Thanks for watching\n"})
    called = call_main(capsys, "score", reference, found)
    assert called.code == 0
    row = called.out.splitlines()[1]
    assert "+3 words" in row
    assert "+2.0 s" in row


def test_score_when_hypotheses_lie_below_the_references_then_they_are_no_references(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = _folder(tmp_path / "ref", {"s.stm": "s 1 A 0 4 so it is\n"})
    found = _folder(reference / "out", {"s.rttm": "SPEAKER s 1 0 1 <NA> <NA> A <NA> <NA>\n"})
    for sides in ((reference, found), (reference / "s.stm", reference)):
        assert _percents(call_main(capsys, "score", *sides, "-f", "json"), "s")["der"] == 75.0


def test_score_when_a_session_is_excluded_then_it_is_not_there(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    called = call_main(capsys, "score", *sides, "-f", "json", "--exclude", "007")
    assert [one["session_id"] for one in _json(called)["sessions"]] == ["2024.05.01.call", "talk"]
    assert (_json(called)["without_reference"], called.err) == ([], "")


def test_score_when_another_reference_text_is_wanted_then_a_pattern_takes_it(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[0] / "talk.clean.stm").write_text("talk 1 A 0 4 well we began today\n")
    called = call_main(capsys, "score", *sides)
    assert called.err == f"not used: {sides[0]}/talk.clean.stm: 'talk' is taken from talk.stm\n"
    called = call_main(capsys, "score", *sides, "-f", "json", "--ref-pattern", "*.clean.stm")
    assert _json(called)["pooled"]["metrics"]["wer"]["length"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--norm", "chime9"],
            "--norm chime9: unknown (did you mean chime8?); known are none, basic, whisper, chime8",
        ),
        (["--norm", "chime8", "--language", "de"], "--norm chime8 is for English; for 'de'"),
        (["--collar", "-1"], "--collar -1: give seconds, 0 or more"),
        (["--der-collar", "nan"], "--der-collar nan: give seconds, 0 or more"),
        (["--format", "xml"], "--format xml: unknown; known are table, json, csv"),
        (["--format", "JSON"], "--format JSON: unknown (did you mean json?); known are table"),
        (["--norm", "Whisper"], "--norm Whisper: unknown (did you mean whisper?); known are none"),
        (["-f", "csv", "--by-speaker"], "--by-speaker is for the table"),
        (["--show-errors", "errors.pdf"], "--show-errors errors.pdf: give a name that ends in"),
        (["--show-errors", "no/such/x.html"], "--show-errors no/such/x.html: no file can be"),
        (["--exclude", "8"], "--exclude 8: no reference of that session"),
        (["--uem", "no.uem"], "no.uem: cannot be read (No such file or directory)"),
        (["--ref-pattern", "*.nothing"], "no file to score that matches '*.nothing'"),
    ],
)
def test_score_when_the_call_is_wrong_then_one_line_and_code_2(
    arguments: list[str],
    message: str,
    sides: tuple[Path, Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    called = call_main(capsys, "score", *sides, *arguments)
    assert (called.code, called.out) == (2, "")
    assert len(called.err_lines) == 1
    assert message in called.err


def test_score_when_a_reference_cannot_be_read_then_one_line_and_code_2(
    sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    (sides[0] / "talk.stm").write_text("talk 1 A\n")
    called = call_main(capsys, "score", *sides)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(f"murmur: reference {sides[0]}/talk.stm: line 1 has 3 fields")
    assert len(called.err_lines) == 1


@pytest.mark.parametrize("which", [0, 1])
def test_score_when_a_path_does_not_exist_then_one_line_and_code_2(
    which: int, sides: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    paths = list(sides)
    paths[which] = paths[which] / "nothing.stm"
    called = call_main(capsys, "score", *paths)
    assert (called.code, called.err_lines) == (
        2,
        [f"murmur: {paths[which]}: no such file or folder"],
    )


@pytest.mark.parametrize("name", ["ami", "long"])
def test_score_when_real_references_are_scored_against_themselves_then_nothing_is_wrong(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (_SHARED / name).is_dir():
        pytest.skip(f"no real references in {_SHARED / name}")
    called = call_main(capsys, "score", _SHARED / name, _SHARED / name, "-f", "json")
    assert called.code == 0
    metrics = _json(called)["pooled"]["metrics"]
    assert len(metrics) == 7
    assert {metric["percent"] for metric in metrics.values()} == {0.0}


@pytest.mark.parametrize("option", ["-q", "--quiet"])
def test_score_when_quiet_then_only_what_failed_or_is_missing_beside_the_table(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Notes go: a session that met by its file, and one without a reference."""
    line = "{} 1 A 0 1 well yes\n"
    references = {name: line.format(name.partition(".")[0]) for name in ("a.stm", "b.stm", "c.stm")}
    hypotheses = {
        "a.stm": line.format("other"),
        "b.stm": "b 1 A 0 x well\n",
        "more.stm": line.format("more"),
    }
    sides = (_folder(tmp_path / "ref", references), _folder(tmp_path / "hyp", hypotheses))
    loud = call_main(capsys, "score", *sides)
    quiet = call_main(capsys, "score", *sides, option)
    assert (quiet.code, quiet.out) == (loud.code, loud.out)
    assert loud.code == 1
    told = [one for one in loud.err_lines if one not in quiet.err_lines]
    assert quiet.err_lines == [one for one in loud.err_lines if one not in told]
    assert any(one.startswith("failed: ") for one in quiet.err_lines)
    assert any("no hypothesis" in one or "not scored, its" in one for one in quiet.err_lines)
    assert told == [
        "a: hypothesis 'other', by its file's name",
        "more: no reference, not scored",
    ]


def test_score_when_quiet_and_all_is_well_then_the_same_table_and_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "talk 1 A 0 1 well yes\n"
    references = _folder(tmp_path / "ref", {"talk.stm": text, "talk.clean.stm": text})
    hypothesis = tmp_path / "hyp.stm"
    hypothesis.write_text(text + "extra 1 A 0 1 well\n", "utf-8")
    loud = call_main(capsys, "score", references, hypothesis)
    assert [one.partition(":")[0] for one in loud.err_lines] == ["not used", "extra"]
    quiet = call_main(capsys, "score", references, hypothesis, "-q")
    assert (quiet.code, quiet.out, quiet.err) == (0, loud.out, "")
