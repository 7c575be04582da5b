"""AMI's NXT annotation, on a meeting of two that is small enough to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from data.ami_nxt import read_segments, read_speakers, read_words, utterances, write_references
from data.reference_file import Spoken, turns_of
from murmur_cli.errors import UsageError

HEAD = '<?xml version="1.0" encoding="ISO-8859-1" standalone="yes"?>\n'
NITE = 'xmlns:nite="http://nite.sourceforge.net/"'
MEETINGS = f"""{HEAD}<nite:root nite:id="meetings" {NITE}>
  <meeting nite:id="m1" observation="XX1000a" duration="12.0" type="scenario">
    <speaker nite:id="s1" camera="C1" channel="0" nxt_agent="A" global_name="FEE005" role="PM"/>
    <speaker nite:id="s2" camera="C2" channel="1" nxt_agent="B" global_name="MEE006" role="UI"/>
  </meeting>
  <meeting nite:id="m2" observation="XX1000b" duration="9.0" type="scenario">
    <speaker nite:id="s3" camera="C1" channel="0" nxt_agent="A" global_name="MEE007" role="PM"/>
  </meeting>
</nite:root>
"""
WORDS_A = f"""{HEAD}<nite:root nite:id="XX1000a.A.words" {NITE}>
   <w nite:id="XX1000a.A.words0" starttime="1.0" endtime="1.4">Okay</w>
   <w nite:id="XX1000a.A.words1" starttime="1.4" endtime="1.4" punc="true">.</w>
   <w nite:id="XX1000a.A.words2" starttime="1.4" endtime="1.8">That&#39;s</w>
   <w nite:id="XX1000a.A.words3" starttime="2.0" endtime="2.3" trunc="true">th</w>
   <vocalsound nite:id="XX1000a.A.words4" starttime="2.3" endtime="2.9" type="laugh"/>
   <w nite:id="XX1000a.A.words5" starttime="2.9" endtime="3.5">T_V_</w>
   <disfmarker nite:id="XX1000a.A.words6"/>
   <w nite:id="XX1000a.A.words7">Um</w>
   <w nite:id="XX1000a.A.words8" starttime="7.0" endtime="7.5">caf\xe9</w>
</nite:root>
"""
SEGMENTS_A = f"""{HEAD}<nite:root nite:id="XX1000a.A.segs" {NITE}>
   <segment nite:id="g1" channel="0" transcriber_start="0.9" transcriber_end="3.6">
      <nite:child href="XX1000a.A.words.xml#id(XX1000a.A.words0)..id(XX1000a.A.words6)"/>
   </segment>
   <segment nite:id="g2" channel="0" transcriber_start="5.0" transcriber_end="5.6">
      <nite:child href="XX1000a.A.words.xml#id(XX1000a.A.words7)"/>
   </segment>
   <segment nite:id="g3" channel="0" transcriber_start="6.9" transcriber_end="7.6">
      <nite:child href="XX1000a.A.words.xml#id(XX1000a.A.words8)"/>
   </segment>
   <segment nite:id="g4" channel="0" transcriber_start="8.0" transcriber_end="9.0">
      <nite:child href="XX1000a.A.words.xml#id(XX1000a.A.words4)"/>
   </segment>
</nite:root>
"""
WORDS_B = f"""{HEAD}<nite:root nite:id="XX1000a.B.words" {NITE}>
   <w nite:id="XX1000a.B.words0" starttime="1.2" endtime="1.9">Yeah</w>
</nite:root>
"""
SEGMENTS_B = f"""{HEAD}<nite:root nite:id="XX1000a.B.segs" {NITE}>
   <segment nite:id="g1" channel="1" transcriber_start="1.1" transcriber_end="2.0">
      <nite:child href="XX1000a.B.words.xml#id(XX1000a.B.words0)"/>
   </segment>
</nite:root>
"""


@pytest.fixture
def annotation(tmp_path: Path) -> Path:
    for name, text in {
        "corpusResources/meetings.xml": MEETINGS,
        "words/XX1000a.A.words.xml": WORDS_A,
        "words/XX1000a.B.words.xml": WORDS_B,
        "segments/XX1000a.A.segments.xml": SEGMENTS_A,
        "segments/XX1000a.B.segments.xml": SEGMENTS_B,
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("latin-1"))
    return tmp_path


def test_speakers_when_read_then_each_meeting_has_its_own(annotation: Path) -> None:
    assert read_speakers(annotation / "corpusResources" / "meetings.xml") == {
        ("XX1000a", "A"): "FEE005",
        ("XX1000a", "B"): "MEE006",
        ("XX1000b", "A"): "MEE007",
    }


def test_words_when_read_then_marks_have_no_text_and_letters_are_joined(annotation: Path) -> None:
    words = read_words(annotation / "words" / "XX1000a.A.words.xml")
    assert [word.text for word in words] == ["Okay", "", "That's", "th", "", "TV", "", "Um", "café"]
    assert (words[3].start_s, words[3].end_s) == (2.0, 2.3)
    assert (words[7].start_s, words[7].end_s) == (None, None)


def test_utterances_when_made_then_times_of_words_else_of_the_transcriber(
    annotation: Path,
) -> None:
    words = read_words(annotation / "words" / "XX1000a.A.words.xml")
    segments = read_segments(annotation / "segments" / "XX1000a.A.segments.xml")
    assert list(utterances(words, segments, "FEE005")) == [
        Spoken(1.0, 3.5, "FEE005", "Okay That's th TV"),
        Spoken(5.0, 5.6, "FEE005", "Um"),
        Spoken(7.0, 7.5, "FEE005", "café"),
    ]


def test_references_when_written_then_stm_and_rttm_in_order_of_time(
    annotation: Path, tmp_path: Path
) -> None:
    write_references(annotation, "XX1000a", tmp_path / "made")
    assert (tmp_path / "made" / "XX1000a.stm").read_text("utf-8").splitlines() == [
        "XX1000a 1 FEE005 1.000 3.500 Okay That's th TV",
        "XX1000a 1 MEE006 1.200 1.900 Yeah",
        "XX1000a 1 FEE005 5.000 5.600 Um",
        "XX1000a 1 FEE005 7.000 7.500 café",
    ]
    assert (tmp_path / "made" / "XX1000a.rttm").read_text("utf-8").splitlines() == [
        "SPEAKER XX1000a 1 1.000 0.800 <NA> <NA> FEE005 <NA> <NA>",
        "SPEAKER XX1000a 1 1.200 0.700 <NA> <NA> MEE006 <NA> <NA>",
        "SPEAKER XX1000a 1 2.000 0.300 <NA> <NA> FEE005 <NA> <NA>",
        "SPEAKER XX1000a 1 2.900 0.600 <NA> <NA> FEE005 <NA> <NA>",
        "SPEAKER XX1000a 1 7.000 0.500 <NA> <NA> FEE005 <NA> <NA>",
    ]


def test_references_when_the_meeting_is_not_annotated_then_refused(
    annotation: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="XX1000b: no words of it"):
        write_references(annotation, "XX1000b", tmp_path)


def test_segments_when_their_words_are_missing_then_refused(annotation: Path) -> None:
    segments = read_segments(annotation / "segments" / "XX1000a.A.segments.xml")
    with pytest.raises(UsageError, match="not in the words file"):
        list(utterances([], segments, "FEE005"))


def test_turns_when_words_touch_or_overlap_then_joined_by_speaker() -> None:
    words = [
        Spoken(2.0, 2.5, "A", "c"),
        Spoken(0.0, 1.0, "A", "a"),
        Spoken(0.5, 1.5, "B", "x"),
        Spoken(1.0, 1.6, "A", "b"),
        Spoken(3.0, 3.0, "A", "no length"),
    ]
    assert [(turn.start_s, turn.end_s, turn.speaker) for turn in turns_of(words)] == [
        (0.0, 1.6, "A"),
        (0.5, 1.5, "B"),
        (2.0, 2.5, "A"),
    ]
