"""Exact bytes of every writer on small transcripts: cases/*.json in, expected/<case>.<ext> out.

A case holds `duration_s`, `words` as [text, start_s, end_s] (with a fourth value true: no
space before it), `turns` as [start_s, end_s, speaker] and optionally `session_id`, `language`
and `diarize` (false: no turns are asked for). The words go through attribution as in a run.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.types import Transcript
from murmur_cli.writers import json_document
from murmur_cli.writers.registry import WRITERS
from support.factories import (
    make_chunk_transcript,
    make_segment,
    make_timeline,
    make_transcript,
    make_word,
)

_FOLDER = Path(__file__).parent
_CASES = sorted(path.stem for path in (_FOLDER / "cases").glob("*.json"))


def _transcript(case: str) -> Transcript:
    given = json.loads((_FOLDER / "cases" / f"{case}.json").read_text("utf-8"))
    duration_s, language = given["duration_s"], given.get("language", "en")
    words = [
        make_word(text, start_s, end_s, space_before=not no_space)
        for text, start_s, end_s, *no_space in given["words"]
    ]
    recognised = [make_segment("", 0, duration_s, words=words, language=language)] if words else []
    timeline = make_timeline(*map(tuple, given["turns"]))
    asked = timeline if given.get("diarize", True) else None
    chunks = (make_chunk_transcript(recognised, language=language),)
    return make_transcript(
        attribute(chunks, asked, duration_s),
        timeline.turns,
        session_id=given.get("session_id", case),
        duration_s=duration_s,
        speakers=timeline.speakers,
        chunks=chunks if words else (),
        language=language if words else None,
    )


def test_cases_when_listed_then_present():
    assert len(_CASES) >= 8


@pytest.mark.parametrize("case", _CASES)
@pytest.mark.parametrize("format_name", list(WRITERS))
def test_writer_when_case_is_rendered_then_same_bytes(
    case: str, format_name: str, request: pytest.FixtureRequest
):
    writer = WRITERS[format_name]
    made = writer.render(_transcript(case)).encode("utf-8")
    expected = _FOLDER / "expected" / f"{case}{writer.extension}"
    if request.config.getoption("--refresh-golden"):
        expected.write_bytes(made)
    assert made == expected.read_bytes()


@pytest.mark.parametrize("case", _CASES)
def test_json_when_case_is_rendered_then_valid(case: str):
    schema = Path(json_document.__file__).with_name("transcript.schema.json")
    validator = Draft202012Validator(json.loads(schema.read_text("utf-8")))
    validator.validate(json.loads(json_document.render(_transcript(case))))
