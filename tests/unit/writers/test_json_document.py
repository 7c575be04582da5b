import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from murmur_cli.types import (
    Flag,
    KvUsage,
    MovedTurn,
    RejectedText,
    StageTiming,
    Status,
    StitchDecision,
    TimeSpan,
)
from murmur_cli.writers import json_document
from support.factories import (
    make_chunk_transcript,
    make_facts,
    make_run,
    make_segment,
    make_turn,
    make_word,
)
from support.factories import make_transcript as make

_SCHEMA = json.loads(files("murmur_cli.writers").joinpath("transcript.schema.json").read_text())


def _refuse(token):
    raise ValueError(f"{token} is not JSON")


def _document(transcript):
    made = json.loads(json_document.render(transcript), parse_constant=_refuse)
    Draft202012Validator(_SCHEMA).validate(made)
    return made


def _full():
    words = [
        make_word("hello", 0.5, 1.0, probability=0.912345, speaker="SPEAKER_00"),
        make_word("you", 1.0, 1.4996, speaker="SPEAKER_00"),
    ]
    segment = make_segment(
        "", 0.5, 1.4996, "SPEAKER_00", words=words, language="en", flags=(Flag.LOOP,)
    )
    made = make_chunk_transcript(
        [segment],
        kv=KvUsage(4, 400, 800, 40, 40, 4096),
        rejected=(RejectedText(TimeSpan(8, 9), "Thanks for watching.", "no speech"),),
        untranscribed=(TimeSpan(7.5, 10.0),),
        mean_logprob=-0.25,
        flags=(Flag.INCOMPLETE,),
    )
    moved = MovedTurn(TimeSpan(4, 5.5), 1.25, "SPEAKER_01", 0.75, 0.125)
    decision = StitchDecision(
        *(0, 1, "SPEAKER_00", 3.5, 0.91, "SPEAKER_01", 0.25, 0.66), moved=(moved,)
    )
    return make(
        [segment], duration_s=10.0, chunks=(made,), decisions=(decision,), warnings=("a warning",)
    )


def test_schema_when_checked_then_valid():
    Draft202012Validator.check_schema(_SCHEMA)


def test_document_when_full_then_holds_words_chunks_and_stitching():
    made = _document(_full())
    assert made["segments"] == [
        {
            "start_s": 0.5,
            "end_s": 1.5,
            "speaker": "SPEAKER_00",
            "language": "en",
            "chunk": 0,
            "flags": ["loop"],
            "text": "hello you",
            "words": [
                {
                    "text": "hello",
                    "start_s": 0.5,
                    "end_s": 1.0,
                    "speaker": "SPEAKER_00",
                    "probability": 0.9123,
                    "space_before": True,
                },
                {
                    "text": "you",
                    "start_s": 1.0,
                    "end_s": 1.5,
                    "speaker": "SPEAKER_00",
                    "probability": None,
                    "space_before": True,
                },
            ],
        }
    ]
    (chunk,) = made["chunks"]
    assert chunk["coverage"] == 0.75  # 2.5 of 10 s are missing
    assert chunk["kv"] == {
        "steps": 4,
        "bytes_read": 4096,
        "speech_entries_read_per_step": 100.0,
        "speech_entries_held_per_step": 200.0,
        "output_entries_read_per_step": 10.0,
        "output_entries_held_per_step": 10.0,
    }
    assert chunk["rejected"] == [
        {"start_s": 8.0, "end_s": 9.0, "text": "Thanks for watching.", "reason": "no speech"}
    ]
    speaker = {"speaker": "SPEAKER_00", "speech_s": 1.0, "turns": 1, "words": 2, "channel": None}
    assert made["speakers"] == [speaker]
    assert made["stitching"][0]["margin"] == 0.66
    assert made["stitching"][0]["moved"] == [
        {
            "start_s": 4.0,
            "end_s": 5.5,
            "clean_s": 1.25,
            "speaker": "SPEAKER_01",
            "similarity": 0.75,
            "former_similarity": 0.125,
            "margin": 0.625,
        }
    ]


def test_document_when_there_are_chunks_then_kv_is_their_sum():
    usages = (KvUsage(4, 400, 800, 40, 40, 4096), KvUsage(1, 100, 200, 5, 10, 1024))
    chunks = tuple(make_chunk_transcript(kv=usage) for usage in usages)
    made = _document(make([make_segment("a", 0, 1)], chunks=chunks))
    assert made["kv"] == {
        "steps": 5,
        "bytes_read": 5120,
        "speech_entries_read_per_step": 100.0,
        "speech_entries_held_per_step": 200.0,
        "output_entries_read_per_step": 9.0,
        "output_entries_held_per_step": 10.0,
    }


def test_document_when_empty_then_valid():
    made = _document(
        make(status=Status.EMPTY, facts=make_facts(3.0, peak_dbfs=None, rms_dbfs=None))
    )
    assert made["status"] == "empty"
    assert made["segments"] == made["turns"] == made["chunks"] == made["speakers"] == []


def test_document_when_numbers_are_not_finite_then_null():
    nan, inf = float("nan"), float("inf")
    words = [make_word("a", 0, 1, probability=nan)]
    decision = StitchDecision(0, 0, "A", 0.1, nan, None, -inf, None)
    transcript = make(
        [make_segment("", 0, 1, "A", words=words)],
        decisions=(decision,),
        run=make_run(options={"threshold": inf, "path": Path("x"), "hints": (1, None)}),
    )
    made = _document(transcript)
    assert made["segments"][0]["words"][0]["probability"] is None
    assert made["stitching"][0]["similarity"] is None
    assert made["run"]["options"] == {"threshold": None, "path": "x", "hints": [1, None]}


def test_document_when_no_steps_were_made_then_no_figures_per_step():
    made = _document(make([make_segment("a", 0, 1)], chunks=(make_chunk_transcript(kv=KvUsage()),)))
    assert made["chunks"][0]["kv"]["speech_entries_read_per_step"] is None


def test_render_when_only_timings_differ_then_only_they_differ():
    slow = replace(_full(), timings=(StageTiming("read", 9.87654),))
    fast, other = json.loads(json_document.render(_full())), json.loads(json_document.render(slow))
    assert other.pop("timings") == [{"stage": "read", "wall_s": 9.877}]
    fast.pop("timings")
    assert fast == other


def test_render_when_rendered_twice_then_same_bytes_and_keys_in_order():
    text = json_document.render(_full())
    assert text == json_document.render(_full())
    assert text.startswith('{\n "schema_version": "1.3",\n "session_id": "talk",')
    assert text.endswith("}\n")


def test_render_when_words_are_many_then_one_line_each():
    lines = json_document.render(_full()).splitlines()
    assert sum('"text": "hello", "start_s": 0.5' in line for line in lines) == 1


def test_document_when_value_has_no_json_form_then_type_error():
    with pytest.raises(TypeError, match="object has no form in JSON"):
        json_document.render(make(run=make_run(options={"x": object()})))


def test_schema_when_flags_and_status_are_listed_then_same_as_the_types():
    defs = _SCHEMA["$defs"]
    assert defs["flags"]["items"]["enum"] == [flag.value for flag in Flag]
    assert _SCHEMA["properties"]["status"]["enum"] == [status.value for status in Status]


def test_document_when_turns_are_given_then_listed():
    made = _document(make(turns=[make_turn(0.25, 1.0, "A")]))
    assert made["turns"] == [{"start_s": 0.25, "end_s": 1.0, "speaker": "A"}]
