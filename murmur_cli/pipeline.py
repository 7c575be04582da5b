"""Recordings from file to transcript: the diagram of ARCHITECTURE.md, in code.

prepare:   read -> detect speech -> plan chunks        in a thread, ahead
recognise: one queue for the chunks of all recordings
finish:    diarize -> stitch -> attribute              as soon as a recording's words are there
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace

from murmur_cli.asr.base import Job, Recognition, RecognitionSession
from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.chunk_advice import advised, measured_kind
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.diarization.base import hints_for_chunk, told_turns
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.prepared_ahead import PreparedAhead
from murmur_cli.progress import ProgressHook
from murmur_cli.run_record import run_record
from murmur_cli.settings import TranscribeSettings
from murmur_cli.speaker_stage import Speakers, diarize_chunk, segments_of, speakers_of
from murmur_cli.stage_clock import StageClock
from murmur_cli.stages import Stages
from murmur_cli.timebase import SAMPLE_RATE_HZ
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    ChunkPlan,
    ChunkTranscript,
    KnownVoices,
    KvUsage,
    ModelIdentity,
    Recording,
    SampleSpan,
    SpeakersFrom,
    Status,
    Stream,
    Transcript,
)
from murmur_cli.types.audio_kind import ChunkCurve

NOTHING_HEARD = Recognition((), None)


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one input: its transcript, or what it failed with."""

    source: InputFile
    result: Transcript | Exception


@dataclass(frozen=True, slots=True)
class Prepared:
    """A recording that is ready for the recogniser; without speech its plan is empty.

    `jobs` are its streams with speech, `plan` holds the chunks of all, `recognised` what the
    recogniser is done with, by name of the job.
    """

    recording: Recording
    speech_s: float
    jobs: tuple[Job, ...]
    plan: ChunkPlan
    models: list[ModelIdentity]
    clock: StageClock
    recognised: dict[str, Recognition] = field(default_factory=dict)


class Pipeline:
    """Who said what, when, in each of many recordings.

    Without speech in any of them neither the recogniser nor the diarizer is called.
    """

    def __init__(
        self,
        settings: TranscribeSettings,
        stages: Stages,
        device: str,
        progress: ProgressHook,
        known: KnownVoices | None = None,
    ) -> None:
        """Wire the stages; `known` voices give their names to speakers."""
        self._settings = settings
        self._stages = stages
        self._device = device
        self._progress = progress
        self._known = known
        self._session: RecognitionSession | None = None
        self._heard: dict[str, tuple[InputFile, Prepared]] = {}

    def run(self, sources: Sequence[InputFile]) -> Generator[Done, None, None]:
        """Each recording as it is done: in order of completion, which need not be that of
        `sources`. One that fails does not stop the others.

        Raises:
            ModelError: a stage cannot be loaded, or has not enough memory.
            UsageError: the model, once loaded, lacks what the settings ask for.
        """
        try:
            with PreparedAhead(sources, self.prepare, "prepare") as ahead:
                while ahead.more or self._heard:
                    while ahead.more and self._wants_more:
                        taken = ahead.take(wait=not self._heard)
                        if taken is None:
                            break
                        yield from self._take_in(*taken, more_follow=ahead.more)
                        del taken  # or it lives until the next is taken
                    yield from self._recognise()
        finally:
            self._end_session()

    # --- prepare ----------------------------------------------------------------------------

    def prepare(self, source: InputFile) -> Prepared:
        """Read a recording, find its speech, plan its chunks. Runs beside the recogniser."""
        clock = StageClock(source.session_id, self._progress)
        with clock.stage("read"):
            recording = read_recording(
                source, track=self._settings.track, channels=self._settings.channels
            )
        with clock.stage("load models"):
            detector = self._stages.detector.get()
        with clock.stage("speech detection"):
            speech = [detector.detect(stream.samples) for stream in recording.streams]
        with clock.stage("chunking"):
            plan, jobs = self._plan(recording, speech)
        for note in (*recording.notes, plan.rule):
            self._progress.note(f"{source.session_id}: {note}")
        speech_s = sum(span.length for found in speech for span in found) / SAMPLE_RATE_HZ
        return Prepared(recording, speech_s, jobs, plan, [detector.identity], clock)

    def _plan(
        self, recording: Recording, speech: Sequence[Sequence[SampleSpan]]
    ) -> tuple[ChunkPlan, tuple[Job, ...]]:
        """The chunks of all streams, numbered through, and a job for each stream that has some."""
        chunks: list[Chunk] = []
        jobs: list[Job] = []
        for stream, found in zip(recording.streams, speech, strict=True):
            plan = plan_chunks(
                found,
                stream.samples,
                max_chunk_s=self._settings.chunk_s,
                packing=self._stages.packing,
                curve=self._curve(stream, found),
            )
            own = [
                replace(chunk, index=len(chunks) + chunk.index, channel=stream.channel)
                for chunk in plan.chunks
            ]
            chunks += own
            if own:
                name = _job_name(recording.session_id, stream.channel)
                jobs.append(Job(name, stream.samples, own))
        return replace(plan, chunks=tuple(chunks)), tuple(jobs)

    def _curve(self, stream: Stream, speech: Sequence[SampleSpan]) -> ChunkCurve | None:
        """What a sweep found best for audio of this kind; measured only if there is a choice."""
        curves = self._settings.chunk_curves
        if self._settings.chunk_s is not None or not curves or not speech:
            return None
        diarizer = self._stages.diarizer.get() if self._stages.diarizer is not None else None
        return advised(curves, measured_kind(stream.samples, speech, diarizer))

    # --- recognise --------------------------------------------------------------------------

    @property
    def _wants_more(self) -> bool:
        return self._session is None or not self._heard or self._session.wants_more

    def _take_in(
        self, source: InputFile, made: Prepared | BaseException, *, more_follow: bool
    ) -> Iterator[Done]:
        """Queue what was prepared; what is done with that is handed on."""
        if isinstance(made, BaseException):
            yield self._failed(source, made)
        elif self._stages.recogniser is None or not made.jobs:
            yield self._finish(source, made)
        else:
            with made.clock.stage("load models"):
                recogniser = self._stages.recogniser.get()
            made.models.append(recogniser.identity)
            if self._session is None:
                self._session = recogniser.open_session(self._progress)
            for job in made.jobs:
                self._heard[job.recording] = (source, made)
                more = more_follow or job is not made.jobs[-1]
                self._session.submit(job, more_follow=more)

    def _recognise(self) -> Iterator[Done]:
        """Let the recogniser work for a moment; finish the recordings that it is done with."""
        if self._session is None or not self._heard:
            return
        try:
            recognised = self._session.step()
        except (ModelError, UsageError):
            raise
        except Exception as error:
            # A fault in a step is nobody's own: whoever was in it fails, the rest begins anew.
            failing, self._heard = self._heard, {}
            self._end_session()
            for source in {source.session_id: source for source, _ in failing.values()}.values():
                yield self._failed(source, error)
            return
        for one in recognised:
            if one.recording not in self._heard:
                continue  # another channel of its recording failed
            source, prepared = self._heard.pop(one.recording)
            if one.recording != source.session_id:
                self._progress.end(one.recording)
            if isinstance(one.result, Exception):
                for job in prepared.jobs:
                    self._heard.pop(job.recording, None)
                yield self._failed(source, one.result)
                continue
            prepared.recognised[one.recording] = one.result
            if len(prepared.recognised) == len(prepared.jobs):
                yield self._finish(source, prepared)

    def _end_session(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    # --- finish -----------------------------------------------------------------------------

    def _finish(self, source: InputFile, prepared: Prepared) -> Done:
        try:
            recognition = _joined(prepared)
            for note in recognition.notes:
                self._progress.note(f"{source.session_id}: {note}")
            return Done(source, self._transcript(prepared, recognition))
        except Exception as error:
            return self._failed(source, error)
        finally:
            self._progress.end(source.session_id)

    def _failed(self, source: InputFile, error: BaseException) -> Done:
        """The failure of one recording, unless it is one that no other would escape."""
        self._progress.end(source.session_id)
        if isinstance(error, (ModelError, UsageError)) or not isinstance(error, Exception):
            raise error
        return Done(source, error)

    def _transcript(self, prepared: Prepared, recognition: Recognition) -> Transcript:
        recording, plan, clock = prepared.recording, prepared.plan, prepared.clock
        arithmetic = self._device
        speakers: Speakers | None = None
        if plan.chunks:
            if self._stages.recogniser is not None:
                clock.add("recognition", recognition.wall_s)
                arithmetic = f"{self._device}: {self._stages.recogniser.get().precision}"
            speakers = self._speakers(prepared, recognition)
        timeline = speakers.timeline if speakers is not None else None
        with clock.stage("attribution"):
            groups = [job.chunks for job in prepared.jobs]
            segments = segments_of(recognition.chunks, groups, timeline, recording.facts.duration_s)
        return Transcript(
            session_id=recording.session_id,
            status=_status(recording, plan),
            facts=recording.facts,
            speech_s=prepared.speech_s,
            language=recognition.language,
            segments=segments,
            turns=timeline.turns if timeline is not None else (),
            speakers=timeline.speakers if timeline is not None else (),
            plan=plan,
            chunks=recognition.chunks or tuple(map(_not_recognised, plan.chunks)),
            decisions=timeline.decisions if timeline is not None else (),
            run=run_record(self._settings, tuple(prepared.models), arithmetic),
            timings=clock.timings,
            warnings=recording.warnings + (timeline.warnings if timeline is not None else ()),
            notes=recording.notes + recognition.notes,
            speakers_from=_speakers_from(recognition) if timeline is not None else None,
            enrolment=speakers.enrolment if speakers is not None else None,
        )

    def _speakers(self, prepared: Prepared, recognition: Recognition) -> Speakers | None:
        if self._stages.diarizer is None:
            return None
        recording, chunks, clock = prepared.recording, prepared.plan.chunks, prepared.clock
        with clock.stage("load models"):
            diarizer = self._stages.diarizer.get()
        prepared.models.extend(diarizer.identities)
        hints = hints_for_chunk(self._settings.hints, len(chunks))
        recogniser = self._stages.recogniser
        names_speakers = recogniser is not None and recogniser.get().names_speakers
        heard = {made.chunk_index: made for made in recognition.chunks}
        local: list[ChunkDiarization] = []
        with clock.stage("diarization", len(chunks)):
            for job in prepared.jobs:
                for chunk in job.chunks:
                    words = heard.get(chunk.index)
                    local.append(
                        diarize_chunk(
                            *(diarizer, job.samples, chunk, words, hints),
                            names_speakers=names_speakers,
                        )
                    )
                    self._progress.advance(recording.session_id, "diarization", len(local))
        with clock.stage("stitching"):
            return speakers_of(local, self._settings, self._known)


def _job_name(session_id: str, channel: int | None) -> str:
    # A session id holds no slash, so this is nobody else's name.
    return session_id if channel is None else f"{session_id}/channel {channel}"


def _joined(prepared: Prepared) -> Recognition:
    """What the recogniser made of all streams; its language is that of most words."""
    made = [
        prepared.recognised[job.recording]
        for job in prepared.jobs
        if job.recording in prepared.recognised
    ]
    if len(made) < 2:
        return made[0] if made else NOTHING_HEARD
    words: Counter[str] = Counter()
    for one in made:
        if one.language is not None:
            words[one.language] += sum(len(s.words) for c in one.chunks for s in c.segments)
    return Recognition(
        chunks=tuple(chunk for one in made for chunk in one.chunks),
        language=words.most_common(1)[0][0] if words else None,
        wall_s=sum(one.wall_s for one in made),
        notes=tuple(dict.fromkeys(note for one in made for note in one.notes)),
    )


def _not_recognised(chunk: Chunk) -> ChunkTranscript:
    """A chunk of which no words are wanted."""
    return ChunkTranscript(chunk.index, (), None, 0, 0, (), KvUsage())


def _speakers_from(recognition: Recognition) -> SpeakersFrom:
    """The recogniser, if it named a speaker in any chunk."""
    names = any(told_turns(heard) for heard in recognition.chunks)
    return SpeakersFrom.RECOGNISER if names else SpeakersFrom.DIARIZER


def _status(recording: Recording, plan: ChunkPlan) -> Status:
    if recording.truncated:
        return Status.PARTIAL
    return Status.OK if plan.chunks else Status.EMPTY
