"""A recogniser's session from first to last."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.asr.base import AsrBackend, Job, Recognition
from murmur_cli.progress import ProgressHook, SilentProgress
from murmur_cli.types import Chunk, SampleSource


def recognise_all(
    backend: AsrBackend, jobs: Sequence[Job], progress: ProgressHook | None = None
) -> dict[str, Recognition | Exception]:
    """All jobs in one queue; results by recording, in order of completion."""
    session = backend.open_session(progress or SilentProgress())
    done: dict[str, Recognition | Exception] = {}
    try:
        for job in jobs:
            session.submit(job, more_follow=job is not jobs[-1])
        while session.busy:
            for recognised in session.step():
                assert recognised.recording not in done
                done[recognised.recording] = recognised.result
    finally:
        session.close()
    return done


def recognise(
    backend: AsrBackend,
    samples: SampleSource,
    chunks: Sequence[Chunk],
    recording: str = "talk",
    progress: ProgressHook | None = None,
) -> Recognition:
    """One recording alone."""
    result = recognise_all(backend, [Job(recording, samples, chunks)], progress)[recording]
    if isinstance(result, Exception):
        raise result
    return result
