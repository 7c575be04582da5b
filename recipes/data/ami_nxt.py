"""AMI: references from the manual annotation in NXT's XML.

`words/MEETING.X.words.xml` has the words of participant X with their times, `segments/
MEETING.X.segments.xml` says which of them are one utterance, `corpusResources/meetings.xml` who
X is: the same person has the same global name in every meeting.

Kept: every word, also broken-off ones and fillers, as spoken; what is left out of scoring is the
normaliser's business. Left out: punctuation marks (`punc="true"`), vocal sounds and other marks,
which have no text. Letters that are spelled (`T_V_`) become one word (`TV`).
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from data.reference_file import Spoken, write_rttm, write_stm
from murmur_cli.errors import UsageError

ID = "{http://nite.sourceforge.net/}id"
CHILD = "{http://nite.sourceforge.net/}child"

_RANGE = re.compile(r"id\(([^)]+)\)")
_SPELLED = re.compile(r"(?:[A-Za-z]_)+[A-Za-z]?")


@dataclass(frozen=True, slots=True)
class NxtWord:
    """An entry of a words file, in its order; `text` is empty for what is no word, times are None
    where the annotation has none."""

    name: str
    text: str
    start_s: float | None
    end_s: float | None


@dataclass(frozen=True, slots=True)
class NxtSegment:
    """An utterance: first and last entry of the words file, and the transcriber's times."""

    first: str
    last: str
    start_s: float
    end_s: float


def read_speakers(path: Path) -> dict[tuple[str, str], str]:
    """(meeting, participant's letter) → global name, of `meetings.xml`."""
    return {
        (meeting.attrib["observation"], speaker.attrib["nxt_agent"]): speaker.attrib["global_name"]
        for meeting in _root(path).iter("meeting")
        for speaker in meeting.iter("speaker")
    }


def read_words(path: Path) -> list[NxtWord]:
    """The entries of a words file."""
    return [
        NxtWord(
            entry.attrib[ID],
            _word(entry) if entry.tag == "w" and entry.get("punc") != "true" else "",
            _time(entry.get("starttime")),
            _time(entry.get("endtime")),
        )
        for entry in _root(path)
        if ID in entry.attrib
    ]


def read_segments(path: Path) -> list[NxtSegment]:
    """The utterances of a segments file; one without words is left out."""
    found = []
    for segment in _root(path).iter("segment"):
        for child in segment.iter(CHILD):
            names = _RANGE.findall(child.get("href", ""))
            if names:
                found.append(
                    NxtSegment(
                        names[0],
                        names[-1],
                        float(segment.attrib["transcriber_start"]),
                        float(segment.attrib["transcriber_end"]),
                    )
                )
    return found


def utterances(words: list[NxtWord], segments: list[NxtSegment], speaker: str) -> Iterator[Spoken]:
    """Each segment's text, with the times of its first and last word, else the transcriber's."""
    places = {word.name: at for at, word in enumerate(words)}
    for segment in segments:
        if segment.first not in places or segment.last not in places:
            raise UsageError(f"segment {segment.first}: its words are not in the words file")
        inside = words[places[segment.first] : places[segment.last] + 1]
        spoken = [word for word in inside if word.text]
        if not spoken:
            continue
        starts = [word.start_s for word in spoken if word.start_s is not None]
        ends = [word.end_s for word in spoken if word.end_s is not None]
        start_s, end_s = min(starts, default=segment.start_s), max(ends, default=segment.end_s)
        yield Spoken(start_s, max(start_s, end_s), speaker, " ".join(word.text for word in spoken))


def write_references(annotation: Path, meeting: str, folder: Path) -> tuple[Path, ...]:
    """Write MEETING.stm and MEETING.rttm.

    Raises:
        UsageError: the meeting has no words in the annotation, or a file is not NXT.
    """
    speakers = read_speakers(annotation / "corpusResources" / "meetings.xml")
    said: list[Spoken] = []
    timed: list[Spoken] = []
    for path in sorted((annotation / "words").glob(f"{meeting}.*.words.xml")):
        letter = path.name.split(".")[1]
        name = speakers.get((meeting, letter))
        if name is None:
            raise UsageError(f"{meeting}.{letter}: meetings.xml does not say who that is")
        words = read_words(path)
        segments = read_segments(annotation / "segments" / f"{meeting}.{letter}.segments.xml")
        said += utterances(words, segments, name)
        timed += [
            Spoken(word.start_s, word.end_s, name, word.text)
            for word in words
            if word.text and word.start_s is not None and word.end_s is not None
        ]
    if not said:
        raise UsageError(f"{meeting}: no words of it in {annotation}")
    return write_stm(folder, meeting, said), write_rttm(folder, meeting, timed)


def _word(entry: ElementTree.Element) -> str:
    text = " ".join((entry.text or "").split())
    return text.replace("_", "") if _SPELLED.fullmatch(text) else text.replace("_", " ")


def _time(text: str | None) -> float | None:
    return float(text) if text else None


def _root(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    except ElementTree.ParseError as error:
        raise UsageError(f"{path}: not XML: {error}") from error
