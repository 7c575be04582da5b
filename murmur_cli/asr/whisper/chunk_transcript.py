"""What the windows of a chunk were heard to say, as one record."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.asr.engine_session import most_frequent
from murmur_cli.asr.whisper.window_task import WindowTask
from murmur_cli.types import Chunk, ChunkTranscript, KvUsage, Segment, TimeSpan


def chunk_transcript(
    chunk: Chunk, tasks: Sequence[WindowTask], *, model: str, policy: str
) -> ChunkTranscript:
    """The transcript of a chunk whose windows are all done; `tasks` are those windows' tasks."""
    segments: list[Segment] = []
    for task in tasks:
        for stretch in task.heard:
            words = stretch.words
            span = TimeSpan(
                min(word.span.start_s for word in words), max(word.span.end_s for word in words)
            )
            segments.append(
                Segment(
                    span,
                    words,
                    chunk.index,
                    language=task.text_language,
                    flags=stretch.flags,
                )
            )
    logprobs = sum(task.logprob_count for task in tasks)
    return ChunkTranscript(
        chunk_index=chunk.index,
        segments=tuple(segments),
        language=most_frequent([task.language for task in tasks]),
        requests=sum(task.requests for task in tasks),
        tokens=sum(task.tokens for task in tasks),
        flags=tuple(dict.fromkeys(flag for task in tasks for flag in task.flags)),
        kv=sum((task.kv for task in tasks), KvUsage()),
        rejected=tuple(text for task in tasks for text in task.rejected),
        untranscribed=tuple(span for task in tasks for span in task.untranscribed),
        model=model,
        policy=policy,
        loops=sum(task.loops for task in tasks),
        mean_logprob=sum(task.logprob_sum for task in tasks) / logprobs if logprobs else None,
    )
