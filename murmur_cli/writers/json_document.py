"""The JSON document: everything that is known of a result. Described in docs/json.md.

What differs between two equal runs stands under `timings` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from murmur_cli.types import (
    AudioFacts,
    Chunk,
    ChunkTranscript,
    Enrolment,
    KvUsage,
    RunRecord,
    Segment,
    SpeakerTurn,
    StitchDecision,
    TimeSpan,
    Transcript,
    Window,
    Word,
)
from murmur_cli.writers import json_layout
from murmur_cli.writers.clock import span_ms

SCHEMA_VERSION = "1.3"
"""Major: a reader must change. Minor: keys were added."""


def render(transcript: Transcript) -> str:
    """The document as strict JSON, valid against transcript.schema.json."""
    return json_layout.dump(document(transcript))


def document(transcript: Transcript) -> dict[str, Any]:
    """The document as plain values, in the order of the file."""
    chunks = {chunk.index: chunk for chunk in transcript.plan.chunks}
    return {
        "schema_version": SCHEMA_VERSION,
        "session_id": transcript.session_id,
        "status": transcript.status,
        "language": transcript.language,
        "warnings": transcript.warnings,
        "notes": transcript.notes,
        "audio": _audio(transcript.facts, transcript.speech_s),
        "speakers_from": transcript.speakers_from,
        "enrolment": _enrolment(transcript.enrolment) if transcript.enrolment else None,
        "speakers": [_speaker(transcript, label) for label in transcript.speakers],
        "segments": [_segment(segment) for segment in transcript.segments],
        "turns": [_turn(turn) for turn in transcript.turns],
        "chunking": {
            "rule": transcript.plan.rule,
            "max_chunk_s": _rounded(transcript.plan.max_chunk_s),
        },
        "chunks": [_chunk(chunks[made.chunk_index], made) for made in transcript.chunks],
        "kv": _kv(transcript.kv),
        "stitching": [_decision(decision) for decision in transcript.decisions],
        "run": _run(transcript.run),
        "timings": [
            {"stage": timing.stage, "wall_s": _rounded(timing.wall_s)}
            for timing in transcript.timings
        ],
    }


def _times(span: TimeSpan) -> dict[str, float]:
    start_ms, end_ms = span_ms(span)
    return {"start_s": start_ms / 1000, "end_s": end_ms / 1000}


def _rounded(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(float(value), digits)


def _total_s(spans: Iterable[TimeSpan]) -> float:
    return sum(span.duration_s for span in spans)


def _audio(facts: AudioFacts, speech_s: float) -> dict[str, Any]:
    return {
        "path": facts.path,
        "sha256": facts.sha256,
        "decoder": facts.decoder,
        "container": facts.container,
        "codec": facts.codec,
        "sample_rate_hz": facts.sample_rate_hz,
        "channels": facts.channels,
        "mix": facts.mix,
        "declared_duration_s": _rounded(facts.declared_duration_s),
        "duration_s": _rounded(facts.duration_s),
        "speech_s": _rounded(speech_s),
        "peak_dbfs": _rounded(facts.peak_dbfs, 2),
        "rms_dbfs": _rounded(facts.rms_dbfs, 2),
    }


def _speaker(transcript: Transcript, label: str) -> dict[str, Any]:
    turns = [turn.span for turn in transcript.turns if turn.speaker == label]
    words = sum(word.speaker == label for word in transcript.words)
    return {
        "speaker": label,
        "speech_s": _rounded(_total_s(turns)),
        "turns": len(turns),
        "words": words,
        "channel": _channel(transcript, label),
    }


def _channel(transcript: Transcript, label: str) -> int | None:
    """The channel in which a speaker is heard, if channels were kept apart."""
    channel = {chunk.index: chunk.channel for chunk in transcript.plan.chunks}
    own = (one.chunk_index for one in transcript.decisions if one.speaker == label)
    return next((channel.get(index) for index in own), None)


def _enrolment(enrolment: Enrolment) -> dict[str, Any]:
    return {
        "model": enrolment.known.model.sha256,
        "threshold": enrolment.threshold,
        "voices": [
            {
                "name": voice.name,
                "clean_s": _rounded(voice.clean_s),
                "clips": [{"file": clip.file, "sha256": clip.sha256} for clip in voice.clips],
            }
            for voice in enrolment.known.voices
        ],
        "speakers": [
            {
                "label": match.label,
                "speaker": match.label if match.name is None else match.name,
                "known": match.name is not None,
                "clean_s": _rounded(match.clean_s),
                "best": match.best,
                "similarity": _rounded(match.similarity, 4),
                "runner_up": match.runner_up,
                "runner_up_similarity": _rounded(match.runner_up_similarity, 4),
            }
            for match in enrolment.matches
        ],
    }


def _segment(segment: Segment) -> dict[str, Any]:
    return {
        **_times(segment.span),
        "speaker": segment.speaker,
        "language": segment.language,
        "chunk": segment.chunk_index,
        "flags": segment.flags,
        "text": segment.text,
        "words": [_word(word) for word in segment.words],
    }


def _word(word: Word) -> dict[str, Any]:
    return {
        "text": word.text,
        **_times(word.span),
        "speaker": word.speaker,
        "probability": _rounded(word.probability, 4),
        "space_before": word.space_before,
    }


def _turn(turn: SpeakerTurn) -> dict[str, Any]:
    return {**_times(turn.span), "speaker": turn.speaker}


def _chunk(chunk: Chunk, made: ChunkTranscript) -> dict[str, Any]:
    speech_s = _total_s(span.time for span in chunk.speech)
    missed_s = _total_s(made.untranscribed)
    is_known = speech_s > 0 and made.model is not None
    return {
        "index": chunk.index,
        "channel": chunk.channel,
        **_times(chunk.span.time),
        "speech_s": _rounded(speech_s),
        "windows": [_window(window) for window in chunk.windows],
        "model": made.model,
        "policy": made.policy,
        "language": made.language,
        "requests": made.requests,
        "tokens": made.tokens,
        "mean_logprob": _rounded(made.mean_logprob, 4),
        "flags": made.flags,
        "loops": made.loops,
        "word_times": made.word_times,
        "kv": _kv(made.kv),
        "rejected": [
            {**_times(text.span), "text": text.text, "reason": text.reason}
            for text in made.rejected
        ],
        "untranscribed": [_times(span) for span in made.untranscribed],
        "coverage": _rounded(max(0.0, 1 - missed_s / speech_s), 4) if is_known else None,
    }


def _window(window: Window) -> dict[str, Any]:
    return {
        **_times(window.span.time),
        "speech_s": _rounded(_total_s(span.time for span in window.speech)),
    }


def _kv(usage: KvUsage) -> dict[str, Any]:
    def per_step(entries: int) -> float | None:
        return _rounded(entries / usage.steps, 2) if usage.steps else None

    return {
        "steps": usage.steps,
        "bytes_read": usage.bytes_read,
        "speech_entries_read_per_step": per_step(usage.speech_entries_read),
        "speech_entries_held_per_step": per_step(usage.speech_entries_held),
        "output_entries_read_per_step": per_step(usage.output_entries_read),
        "output_entries_held_per_step": per_step(usage.output_entries_held),
    }


def _decision(decision: StitchDecision) -> dict[str, Any]:
    return {
        "chunk": decision.chunk_index,
        "local_speaker": decision.local_speaker,
        "speaker": decision.speaker,
        "clean_s": _rounded(decision.clean_s),
        "similarity": _rounded(decision.similarity, 4),
        "runner_up": decision.runner_up,
        "runner_up_similarity": _rounded(decision.runner_up_similarity, 4),
        "margin": _rounded(decision.margin, 4),
        "moved": [
            {
                **_times(turn.span),
                "clean_s": _rounded(turn.clean_s),
                "speaker": turn.speaker,
                "similarity": _rounded(turn.similarity, 4),
                "former_similarity": _rounded(turn.former_similarity, 4),
                "margin": _rounded(turn.margin, 4),
            }
            for turn in decision.moved
        ],
    }


def _run(run: RunRecord) -> dict[str, Any]:
    return {
        "murmur_version": run.murmur_version,
        "device": run.device,
        "models": [
            {
                "name": model.name,
                "source": model.source,
                "sha256": model.sha256,
                "licence": model.licence,
            }
            for model in run.models
        ],
        "options": run.options,
        "versions": run.versions,
    }
