"""The whole program on the real two-speaker telephone conversation that pyannote.audio ships.

The words below are what is said in it, from its hand-made transcript (`sample.stm` beside the
audio); who speaks when is `sample.rttm` there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import meeteval
import pytest
from jsonschema import Draft202012Validator

from murmur_cli.writers import json_document
from support.murmur_call import Called, call_main, call_process

pytestmark = pytest.mark.embedded

REFERENCE = (
    "hello hello oh hello i didn't know you were there neither did i okay then i thought you know "
    "i heard a beep this is diane in new jersey and i'm sheila in texas originally from chicago "
    "oh i'm originally from chicago also i'm in new jersey now though well there isn't that much "
    "difference at least you know they all call me a yankee down here so what can i say "
    "oh i don't hear that in new jersey now"
)
CERTAIN_PHRASES = (
    "i didn't know you were there",
    "this is diane in new jersey",
    "originally from chicago",
    "i'm in new jersey now though",
    "they all call me a yankee down here",
    "oh i don't hear that in new jersey now",
)
"""Clearly spoken; a recogniser that misses one of them is broken."""

MAX_WER = 0.25
"""Overlaps and a telephone line: Whisper base makes about 15 errors in the 83 words."""

MAX_DER = 0.20
DURATION_S = 30.0
SHORT_OF_A_TURN_S = 10.0
"""A word outside all turns takes the speaker of one at most this far away."""


@dataclass(frozen=True, slots=True)
class Result:
    """A call, the JSON document it wrote, and the folder that holds its files."""

    called: Called
    document: dict[str, Any]
    folder: Path

    @property
    def words(self) -> list[dict[str, Any]]:
        return [word for segment in self.document["segments"] for word in segment["words"]]


Transcribe = Callable[..., Result]


@pytest.fixture(scope="module")
def result(sample_wav: Path, tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The default run, as a process of its own."""
    folder = tmp_path_factory.mktemp("first")
    return _result(call_process("transcribe", sample_wav, "-o", folder), folder)


@pytest.fixture
def transcribe(sample_wav: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Transcribe:
    """Further runs, in this process: the libraries are loaded once."""

    def run(*options: str) -> Result:
        folder = tmp_path / "_".join(options)
        return _result(call_main(capsys, "transcribe", sample_wav, "-o", folder, *options), folder)

    return run


def _result(called: Called, folder: Path) -> Result:
    assert called.code == 0, called.err
    return Result(called, json.loads((folder / "sample.json").read_text("utf-8")), folder)


def _normalised(text: str) -> str:
    return " ".join(re.findall(r"[a-z']+", text.lower()))


def _text(result: Result) -> str:
    return _normalised(" ".join(segment["text"] for segment in result.document["segments"]))


def _without_timings(document: dict[str, Any]) -> str:
    return json.dumps({key: value for key, value in document.items() if key != "timings"})


def test_run_when_sample_is_given_then_its_words_are_found(result: Result) -> None:
    text = _text(result)
    assert [phrase for phrase in CERTAIN_PHRASES if phrase not in text] == []
    errors = meeteval.wer.siso_word_error_rate(REFERENCE, text)
    assert errors.error_rate <= MAX_WER, (errors, text)


def test_run_when_sample_is_given_then_two_speakers_are_found_at_the_right_times(
    result: Result, sample_wav: Path
) -> None:
    from pyannote.core import Annotation, Segment, Timeline
    from pyannote.metrics.diarization import DiarizationErrorRate

    assert [speaker["speaker"] for speaker in result.document["speakers"]] == [
        "SPEAKER_00",
        "SPEAKER_01",
    ]
    reference, hypothesis = Annotation(), Annotation()
    for number, line in enumerate(sample_wav.with_suffix(".rttm").read_text().splitlines()):
        start_s, length_s, speaker = (line.split()[at] for at in (3, 4, 7))
        span = Segment(float(start_s), float(start_s) + float(length_s))
        reference[span, number] = speaker
    for number, turn in enumerate(result.document["turns"]):
        hypothesis[Segment(turn["start_s"], turn["end_s"]), number] = turn["speaker"]
    metric = DiarizationErrorRate(collar=0.0, skip_overlap=False)
    whole = Timeline([Segment(0, DURATION_S)])
    assert metric(reference, hypothesis, uem=whole) < MAX_DER


def test_run_when_sample_is_given_then_each_speaker_says_what_they_said(result: Result) -> None:
    said: dict[str, str] = {"SPEAKER_00": "", "SPEAKER_01": ""}
    for word in result.words:
        said[word["speaker"]] += _normalised(word["text"]) + " "
    # SPEAKER_00 is the first voice heard: Diane of New Jersey.
    assert "this is diane in new jersey" in said["SPEAKER_00"]
    assert "i'm sheila" in said["SPEAKER_01"]
    assert "yankee" in said["SPEAKER_01"]


def test_run_when_sample_is_given_then_times_are_legal(result: Result) -> None:
    document = result.document
    for row in [*document["segments"], *document["turns"], *result.words]:
        assert 0 <= row["start_s"] < row["end_s"] <= DURATION_S, row
    starts = [segment["start_s"] for segment in document["segments"]]
    assert starts == sorted(starts)
    starts = [turn["start_s"] for turn in document["turns"]]
    assert starts == sorted(starts)
    for segment in document["segments"]:
        words = segment["words"]
        for word in words:
            assert segment["start_s"] <= word["start_s"] < word["end_s"] <= segment["end_s"]
            assert word["speaker"] == segment["speaker"]
        for left, right in pairwise(words):
            assert left["end_s"] <= right["start_s"]


def test_run_when_sample_is_given_then_segments_belong_to_turns(result: Result) -> None:
    for segment in result.document["segments"]:
        if segment["speaker"] is None:
            continue
        gaps_s = [
            max(0.0, turn["start_s"] - segment["end_s"], segment["start_s"] - turn["end_s"])
            for turn in result.document["turns"]
            if turn["speaker"] == segment["speaker"]
        ]
        assert min(gaps_s) <= SHORT_OF_A_TURN_S, segment


def test_run_when_sample_is_given_then_the_record_is_complete_and_valid(result: Result) -> None:
    schema = Path(json_document.__file__).with_name("transcript.schema.json")
    Draft202012Validator(json.loads(schema.read_text("utf-8"))).validate(result.document)
    document = result.document
    assert document["status"] == "ok"
    assert document["language"] == "en"
    assert document["run"]["options"]["chunk_s"] == 300.0
    assert [model["name"] for model in document["run"]["models"]] == [
        "silero-vad",
        "whisper-base",
        "segmentation-3.0",
        "campplus",
    ]
    assert [timing["stage"] for timing in document["timings"]] == [
        "read",
        "load models",
        "speech detection",
        "chunking",
        "recognition",
        "diarization",
        "stitching",
        "attribution",
    ]
    (chunk,) = document["chunks"]
    assert chunk["end_s"] - chunk["start_s"] <= 300
    assert (
        chunk["kv"]["speech_entries_read_per_step"] == chunk["kv"]["speech_entries_held_per_step"]
    )


def test_run_when_sample_is_given_then_the_formats_tell_the_same(result: Result) -> None:
    rttm = (result.folder / "sample.rttm").read_text("utf-8").splitlines()
    assert [(float(line.split()[3]), line.split()[7]) for line in rttm] == [
        (turn["start_s"], turn["speaker"]) for turn in result.document["turns"]
    ]
    cues = (result.folder / "sample.srt").read_text("utf-8").strip().split("\n\n")
    shown = " ".join(line for cue in cues for line in cue.split("\n")[2:])
    shown = re.sub(r"SPEAKER_\d\d:", "", shown)
    assert _normalised(shown) == _text(result)


def test_process_when_off_a_terminal_then_it_prints_one_line_and_no_library_speaks(
    result: Result, sample_wav: Path
) -> None:
    assert result.called.out == ""
    assert len(result.called.err_lines) == 1
    summary, files = result.called.err_lines[0].split(" -> ")
    timed_s = sum(timing["wall_s"] for timing in result.document["timings"])
    assert summary == (
        f"{sample_wav}: ok: 30.0 s, {len(result.words)} words, 2 speakers, en; took {timed_s:.1f} s"
    )
    assert files.split() == [str(result.folder / f"sample.{name}") for name in _FORMATS]


_FORMATS = ("rttm", "srt", "json")


def test_run_when_repeated_then_the_same_bytes(result: Result, transcribe: Transcribe) -> None:
    again = transcribe()
    assert _without_timings(again.document) == _without_timings(result.document)
    for name in ("sample.rttm", "sample.srt"):
        assert (again.folder / name).read_bytes() == (result.folder / name).read_bytes()


def test_run_when_not_diarized_and_chunks_are_short_then_the_same_words(
    result: Result, transcribe: Transcribe
) -> None:
    other = transcribe("--no-diarize", "--chunk", "60")
    assert other.document["turns"] == other.document["speakers"] == []
    assert (other.folder / "sample.rttm").read_bytes() == b""
    assert {word["speaker"] for word in other.words} == {None}
    without_speaker = [{**word, "speaker": None} for word in result.words]
    assert sorted(other.words, key=_place) == sorted(without_speaker, key=_place)


def test_run_when_chunk_is_auto_then_the_same_segments(
    result: Result, transcribe: Transcribe
) -> None:
    other = transcribe("--chunk", "auto", "-v")
    assert other.document["segments"] == result.document["segments"]
    assert other.document["turns"] == result.document["turns"]
    rule = other.document["chunking"]["rule"]
    assert f"sample: {rule}" in other.called.err_lines


@pytest.mark.parametrize("policy", ["speech", "output", "both"])
def test_run_when_kv_entries_are_evicted_then_fewer_are_read(
    transcribe: Transcribe, policy: str
) -> None:
    other = transcribe("--no-diarize", "--evict", policy)
    (chunk,) = other.document["chunks"]
    assert chunk["policy"] == policy
    kv = chunk["kv"]
    assert kv["steps"] > 0
    for region in ("speech", "output"):
        read = kv[f"{region}_entries_read_per_step"]
        assert 0 < read <= kv[f"{region}_entries_held_per_step"]
    if policy in ("speech", "both"):
        assert kv["speech_entries_read_per_step"] < kv["speech_entries_held_per_step"]
    errors = meeteval.wer.siso_word_error_rate(REFERENCE, _text(other))
    assert errors.error_rate <= MAX_WER, (errors, _text(other))


def _place(word: dict[str, Any]) -> tuple[float, float, str]:
    return word["start_s"], word["end_s"], word["text"]
