"""One recording from file to transcript: the diagram of ARCHITECTURE.md, in code.

read -> detect speech -> plan chunks -> recognise -> diarize -> stitch -> attribute
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from murmur_cli.asr.base import Recognition
from murmur_cli.attribution.words_to_speakers import attribute
from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.diarization.base import hints_for_chunk
from murmur_cli.progress import ProgressHook
from murmur_cli.run_record import run_record
from murmur_cli.settings import TranscribeSettings
from murmur_cli.stages import Stages
from murmur_cli.stitching.stitch import stitch
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import (
    ChunkPlan,
    ModelIdentity,
    Recording,
    SpeakerTimeline,
    StageTiming,
    Status,
    Transcript,
)


def transcribe_recording(
    source: InputFile,
    settings: TranscribeSettings,
    stages: Stages,
    device: str,
    progress: ProgressHook,
) -> Transcript:
    """Who said what, when, in one recording.

    Without speech neither the recogniser nor the diarizer is called.

    Raises:
        RecordingError: the file cannot be read.
        ModelError: a stage cannot be loaded.
    """
    clock = _Clock(source.session_id, progress)
    with clock.stage("read"):
        recording = read_recording(source, track=settings.track)
    with clock.stage("load models"):
        detector = stages.detector.get()
    with clock.stage("speech detection"):
        speech = detector.detect(recording.samples)
    with clock.stage("chunking"):
        plan = plan_chunks(
            speech, recording.samples, max_chunk_s=settings.chunk_s, packing=stages.packing
        )
    progress.note(f"{source.session_id}: {plan.rule}")
    models = [detector.identity]
    arithmetic = device
    recognition = Recognition((), None)
    timeline: SpeakerTimeline | None = None
    if plan.chunks:
        with clock.stage("load models"):
            recogniser = stages.recogniser.get()
        models.append(recogniser.identity)
        arithmetic = f"{device}: {recogniser.precision}"
        with clock.stage("recognition"):
            recognition = recogniser.transcribe(
                recording.samples, plan.chunks, source.session_id, progress
            )
        if stages.diarizer is not None:
            timeline = _diarize(recording, plan, settings, stages, models, clock, progress)
    with clock.stage("attribution"):
        segments = attribute(recognition.chunks, timeline, recording.facts.duration_s)
    return Transcript(
        session_id=source.session_id,
        status=_status(recording, plan),
        facts=recording.facts,
        speech_s=sum(span.length for span in speech) / SAMPLE_RATE_HZ,
        language=recognition.language,
        segments=segments,
        turns=timeline.turns if timeline is not None else (),
        speakers=timeline.speakers if timeline is not None else (),
        plan=plan,
        chunks=recognition.chunks,
        decisions=timeline.decisions if timeline is not None else (),
        run=run_record(settings, tuple(models), arithmetic),
        timings=clock.timings,
        warnings=recording.warnings + (timeline.warnings if timeline is not None else ()),
    )


def _diarize(
    recording: Recording,
    plan: ChunkPlan,
    settings: TranscribeSettings,
    stages: Stages,
    models: list[ModelIdentity],
    clock: _Clock,
    progress: ProgressHook,
) -> SpeakerTimeline:
    assert stages.diarizer is not None
    with clock.stage("load models"):
        diarizer = stages.diarizer.get()
    models.extend(diarizer.identities)
    hints = hints_for_chunk(settings.hints, len(plan.chunks))
    local = []
    with clock.stage("diarization", len(plan.chunks)):
        for chunk in plan.chunks:
            local.append(diarizer.diarize(recording.samples, chunk, hints=hints))
            progress.advance(recording.session_id, "diarization", len(local))
    with clock.stage("stitching"):
        return stitch(local, settings.hints)


def _status(recording: Recording, plan: ChunkPlan) -> Status:
    if recording.truncated:
        return Status.PARTIAL
    return Status.OK if plan.chunks else Status.EMPTY


class _Clock:
    """Wall time of the stages; a stage that is entered twice adds up."""

    def __init__(self, recording: str, progress: ProgressHook) -> None:
        self._recording = recording
        self._progress = progress
        self._wall_s: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str, total: int | None = None) -> Iterator[None]:
        """Time the block as `name` and announce it."""
        self._progress.stage(self._recording, name, total)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._wall_s[name] = self._wall_s.get(name, 0.0) + time.perf_counter() - start

    @property
    def timings(self) -> tuple[StageTiming, ...]:
        """Stages in the order in which they were entered first."""
        return tuple(StageTiming(name, wall_s) for name, wall_s in self._wall_s.items())
