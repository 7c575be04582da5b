"""Transcripts and their parts for tests: everything not given has a plain default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from murmur_cli.types import (
    AudioFacts,
    Chunk,
    ChunkPlan,
    ChunkTranscript,
    KvUsage,
    ModelIdentity,
    RunRecord,
    SampleSpan,
    Segment,
    SpeakersFrom,
    SpeakerTimeline,
    SpeakerTurn,
    StageTiming,
    Status,
    TimeSpan,
    Transcript,
    Window,
    Word,
)


def make_word(text: str, start_s: float, end_s: float, **fields: Any) -> Word:
    """A word; fields are those of Word."""
    return Word(text, TimeSpan(start_s, end_s), **fields)


def make_words(text: str, start_s: float, end_s: float, **fields: Any) -> tuple[Word, ...]:
    """The words of a text, evenly spread over the time."""
    texts = text.split()
    step_s = (end_s - start_s) / len(texts)
    edges_s = [start_s + step_s * at for at in range(len(texts))] + [end_s]
    return tuple(
        make_word(word, left_s, right_s, **fields)
        for word, left_s, right_s in zip(texts, edges_s, edges_s[1:], strict=False)
    )


def make_segment(
    text: str,
    start_s: float,
    end_s: float,
    speaker: str | None = None,
    *,
    words: Sequence[Word] | None = None,
    chunk_index: int = 0,
    **fields: Any,
) -> Segment:
    """A segment of a text whose words spread evenly, or of the words given."""
    if words is None:
        words = make_words(text, start_s, end_s, speaker=speaker)
    return Segment(TimeSpan(start_s, end_s), tuple(words), chunk_index, speaker=speaker, **fields)


def make_turn(start_s: float, end_s: float, speaker: str) -> SpeakerTurn:
    """A turn of a global speaker."""
    return SpeakerTurn(TimeSpan(start_s, end_s), speaker)


def make_timeline(*turns: tuple[float, float, str]) -> SpeakerTimeline:
    """A timeline of (start_s, end_s, speaker); labels in order of first speech."""
    made = tuple(sorted(make_turn(*turn) for turn in turns))
    return SpeakerTimeline(made, tuple(dict.fromkeys(turn.speaker for turn in made)))


def make_facts(duration_s: float = 60.0, **fields: Any) -> AudioFacts:
    """Facts of a mono 16 kHz wave file."""
    known: dict[str, Any] = {
        "path": Path("talk.wav"),
        "sha256": "0" * 64,
        "decoder": "soundfile",
        "container": "WAV",
        "codec": "PCM_16",
        "sample_rate_hz": 16_000,
        "channels": 1,
        "mix": "mono",
        "declared_duration_s": duration_s,
        "duration_s": duration_s,
        "peak_dbfs": -3.0,
        "rms_dbfs": -20.0,
    }
    return AudioFacts(**(known | fields))


def make_chunk(start_s: float = 0.0, end_s: float = 60.0, index: int = 0) -> Chunk:
    """A chunk with one window full of speech."""
    span = SampleSpan(round(start_s * 16_000), round(end_s * 16_000))
    return Chunk(index, span, (Window(span, (span,), (span,)),))


def make_chunk_transcript(
    segments: Sequence[Segment] = (), index: int = 0, **fields: Any
) -> ChunkTranscript:
    """What a recogniser made of a chunk."""
    known: dict[str, Any] = {
        "language": "en",
        "requests": 1,
        "tokens": 10,
        "flags": (),
        "kv": KvUsage(10, 1000, 2000, 50, 50, 4096),
        "model": "whisper-base",
        "policy": "none",
    }
    return ChunkTranscript(index, tuple(segments), **(known | fields))


def make_run(**fields: Any) -> RunRecord:
    """A run record with one model."""
    known: dict[str, Any] = {
        "murmur_version": "0.1.0",
        "models": (ModelIdentity("whisper-base", "package x 1.0", "f" * 64, "MIT"),),
        "options": {"chunk_s": 300.0, "evict": "none"},
        "versions": {"torch": "2.9.0"},
        "device": "cpu",
    }
    return RunRecord(**(known | fields))


def make_transcript(
    segments: Sequence[Segment] = (),
    turns: Sequence[SpeakerTurn] | None = None,
    *,
    session_id: str = "talk",
    duration_s: float = 60.0,
    **fields: Any,
) -> Transcript:
    """A transcript of one chunk. Without `turns`, each segment with a speaker is a turn."""
    if turns is None:
        turns = [
            SpeakerTurn(segment.span, segment.speaker) for segment in segments if segment.speaker
        ]
    turns = tuple(sorted(turns))
    known: dict[str, Any] = {
        "status": Status.OK if segments else Status.EMPTY,
        "facts": make_facts(duration_s),
        "speech_s": sum(segment.span.duration_s for segment in segments),
        "language": "en" if segments else None,
        "speakers": tuple(dict.fromkeys(turn.speaker for turn in turns)),
        "plan": ChunkPlan((make_chunk(0, duration_s),) if segments else (), 300.0, "one chunk"),
        "chunks": (make_chunk_transcript(segments),) if segments else (),
        "decisions": (),
        "run": make_run(),
        "timings": (StageTiming("read", 0.25),),
        "speakers_from": SpeakersFrom.DIARIZER if turns else None,
    }
    return Transcript(session_id, segments=tuple(segments), turns=turns, **(known | fields))
