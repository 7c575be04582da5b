"""Transcripts as the product makes them: the recogniser's own session, with all its guards."""

from __future__ import annotations

import time
from typing import Any

from murmur_cli.asr.base import Recognition
from murmur_cli.asr.whisper.session import WhisperOptions, WhisperSession
from murmur_cli.engine.policies.base import EvictionPolicy
from murmur_cli.progress import SilentProgress
from murmur_cli.types import KvUsage, join_words
from policies.whisper_subject import LANGUAGE, WhisperSubject

SLOTS = 16


def transcripts(
    subject: WhisperSubject, policy: EvictionPolicy, full: dict[str, str] | None
) -> dict[str, Any]:
    """Figures of one policy, as `WhisperSubject.judge_texts` gives them; `full` are its texts."""
    started_s = time.process_time()
    options = WhisperOptions(LANGUAGE, "transcribe", SLOTS)
    session = WhisperSession(
        subject.adapter(), subject.tokens, subject.name, policy, options, SilentProgress()
    )
    jobs = [one.job for one in subject.recordings if one.counts]
    heard: dict[str, Recognition] = {}
    try:
        for number, job in enumerate(jobs, start=1):
            session.submit(job, more_follow=number < len(jobs))
        while session.busy:
            for one in session.step():
                if isinstance(one.result, Exception):
                    raise one.result
                heard[one.recording] = one.result
    finally:
        session.close()
    chunks = [chunk for one in heard.values() for chunk in one.chunks]
    return {
        **subject.judge_texts({name: _text(one) for name, one in heard.items()}, full),
        **kv_figures(sum((chunk.kv for chunk in chunks), KvUsage())),
        "requests": sum(chunk.requests for chunk in chunks),
        "loops": sum(chunk.loops for chunk in chunks),
        "cpu_s": round(time.process_time() - started_s, 2),
    }


def _text(recognition: Recognition) -> str:
    segments = (segment for chunk in recognition.chunks for segment in chunk.segments)
    return " ".join(join_words(segment.words) for segment in segments)


def kv_figures(kv: KvUsage) -> dict[str, Any]:
    """Speech entries that a step reads, and that it would read under full attention."""
    return {
        "steps": kv.steps,
        "entries_read": round(kv.speech_entries_read / max(1, kv.steps), 1),
        "entries_held": round(kv.speech_entries_held / max(1, kv.steps), 1),
    }
