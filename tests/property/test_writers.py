"""Any transcript: every format can be read back, every time is legal, no word is lost."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from urllib.parse import unquote

import meeteval
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.types import Transcript
from murmur_cli.writers import ctm, json_document, rttm, seglst, srt, stm, vtt
from murmur_cli.writers.cue_layout import lay_out
from murmur_cli.writers.script import display_width
from support.factories import (
    make_chunk_transcript,
    make_segment,
    make_timeline,
    make_transcript,
    make_word,
)

_EXAMPLES = settings(deadline=None, max_examples=50)
_SCHEMA = json.loads(
    Path(json_document.__file__).with_name("transcript.schema.json").read_text("utf-8")
)
_TEXTS = st.one_of(
    st.sampled_from(["yes.", "and", "we,", "今天好，", "مرحبا", "ที่นี่", "https://x.org/" + "a" * 50]),
    st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=12),
)
_NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
_DURATION_S = 50.0


@st.composite
def _transcripts(draw: st.DrawFn) -> Transcript:
    words = []
    for text in draw(st.lists(_TEXTS, max_size=25)):
        start_s = draw(st.floats(-1, _DURATION_S + 5))
        length_s = draw(st.floats(0, 3))
        words.append(make_word(text, start_s, start_s + length_s, space_before=draw(st.booleans())))
    names = draw(st.lists(_NAMES, min_size=1, max_size=3, unique=True))
    turns = [
        (start_s, min(_DURATION_S, start_s + length_s), name)
        for start_s, length_s, name in draw(
            st.lists(
                st.tuples(st.floats(0, 49), st.floats(0.01, 20), st.sampled_from(names)), max_size=8
            )
        )
    ]
    timeline = make_timeline(*turns)
    segments = [make_segment("", 0, _DURATION_S, words=words)] if words else []
    made = attribute([make_chunk_transcript(segments)], timeline, _DURATION_S)
    return make_transcript(made, timeline.turns, session_id=draw(_NAMES), duration_s=_DURATION_S)


def _milliseconds(clock: str) -> int:
    hours, minutes, seconds, milliseconds = map(int, re.split(r"[:.,]", clock))
    assert minutes < 60
    assert seconds < 60
    return ((hours * 60 + minutes) * 60 + seconds) * 1000 + milliseconds


@_EXAMPLES
@given(_transcripts())
def test_rttm_when_read_by_meeteval_then_same_turns(transcript):
    lines = meeteval.io.RTTM.load(io.StringIO(rttm.render(transcript))).lines
    assert len(lines) == len(transcript.turns)
    read = sorted((unquote(line.speaker_id), float(line.begin_time)) for line in lines)
    told = sorted((turn.speaker, turn.span.start_s) for turn in transcript.turns)
    for (read_name, read_s), (name, start_s) in zip(read, told, strict=True):
        assert read_name == name
        assert abs(read_s - start_s) < 0.000_501
    assert all(unquote(line.filename) == transcript.session_id for line in lines)
    assert all(line.begin_time >= 0 and line.duration > 0 for line in lines)


@_EXAMPLES
@given(_transcripts())
def test_stm_and_seglst_when_read_by_meeteval_then_the_same_segments(transcript):
    lines = meeteval.io.STM.parse(stm.render(transcript)).lines
    entries = meeteval.io.SegLST.parse(seglst.render(transcript)).segments
    expected = transcript.segments or (None,)
    assert len(lines) == len(entries) == len(expected)
    for line, entry, segment in zip(lines, entries, expected, strict=True):
        text = " ".join(segment.text.split()) if segment else ""
        assert line.transcript == entry["words"] == text
        assert unquote(line.filename) == entry["session_id"] == transcript.session_id
        assert (line.begin_time, line.end_time) == (entry["start_time"], entry["end_time"])
        assert 0 <= line.begin_time < line.end_time
        speaker = (segment and segment.speaker) or "unknown"
        assert unquote(line.speaker_id) == entry["speaker"] == speaker


@_EXAMPLES
@given(_transcripts())
def test_ctm_when_read_by_meeteval_then_every_word_in_order(transcript):
    lines = meeteval.io.CTM.parse(ctm.render(transcript)).lines
    assert [unquote(line.word) for line in lines] == [word.text for word in transcript.words]
    starts = [line.begin_time for line in lines]
    assert starts == sorted(starts)
    assert all(line.duration > 0 for line in lines)


@_EXAMPLES
@given(_transcripts())
def test_json_when_rendered_then_valid_and_whole(transcript):
    made = json.loads(json_document.render(transcript))
    Draft202012Validator(_SCHEMA).validate(made)
    words = [word["text"] for segment in made["segments"] for word in segment["words"]]
    assert words == [word.text for word in transcript.words]
    assert all(0 <= item["start_s"] < item["end_s"] <= _DURATION_S for item in made["segments"])


@_EXAMPLES
@given(_transcripts())
def test_cues_when_laid_out_then_times_and_lines_are_legal(transcript):
    cues = lay_out(transcript.segments, _DURATION_S)
    assert [cue.start_ms for cue in cues] == sorted(cue.start_ms for cue in cues)
    for cue in cues:
        assert 0 <= cue.start_ms < cue.end_ms <= _DURATION_S * 1000
        assert cue.end_ms - cue.start_ms <= 7000
        assert 1 <= len(cue.lines) <= 2
        assert all(line == line.strip() and line for line in cue.lines)


@_EXAMPLES
@given(st.lists(_TEXTS.filter(lambda text: display_width(text) <= 42), max_size=40))
def test_cues_when_no_word_is_wider_than_a_line_then_no_line_is_and_no_word_is_lost(texts):
    words = [make_word(text, at * 0.3, at * 0.3 + 0.3) for at, text in enumerate(texts)]
    segments = [make_segment("", 0, 12, words=words)] if words else []
    cues = lay_out(segments, 60.0)
    assert all(display_width(line) <= 42 for cue in cues for line in cue.lines)
    shown = "".join("".join(line.split()) for cue in cues for line in cue.lines)
    assert shown == "".join("".join(texts).split())


@pytest.mark.parametrize(("render", "mark"), [(srt.render, ","), (vtt.render, ".")])
@_EXAMPLES
@given(transcript=_transcripts())
def test_subtitles_when_parsed_then_the_cues(render, mark, transcript):
    blocks = [block for block in render(transcript).split("\n\n") if block]
    if mark == ".":
        assert blocks.pop(0) == "WEBVTT"
    cues = lay_out(transcript.segments, _DURATION_S)
    assert len(blocks) == len(cues)
    for number, (block, cue) in enumerate(zip(blocks, cues, strict=True), start=1):
        lines = block.split("\n")
        if mark == ",":
            assert lines.pop(0) == str(number)
        start, end = lines.pop(0).split(" --> ")
        assert (_milliseconds(start), _milliseconds(end)) == (cue.start_ms, cue.end_ms)
        assert re.fullmatch(rf"\d{{2,}}:\d\d:\d\d\{mark}\d{{3}}", start)
        assert len(lines) == len(cue.lines)
