"""Runs what is missing of a sweep: a process for each setting, rounds in alternation."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmur_cli.bench.machine_record import commit, device_words
from murmur_cli.bench.worker_process import PACKAGE_ROOT, WorkerError, WorkerProcess
from murmur_cli.sweeps.grid import SweepSetting
from murmur_cli.sweeps.recordings import SweepAudio, SweepRecording
from murmur_cli.sweeps.run_file import RunFile, RunLine, run_id
from murmur_cli.types.audio_kind import AudioKind

WORKER = ("-m", "murmur_cli.sweeps.sweep_worker")
TRANSCRIPTS = "transcripts"

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SweepPlan:
    """What is to be run.

    Attributes:
        settings: the grid.
        audio: the recordings.
        common: settings by their Python names that are the same in all runs; 'device' is resolved.
        scaled: models whose policies scale with the ceiling of chunks, so that a ceiling above the
            length of a recording is not the same as the whole.
        repeats: of every run.
        threads: of the arithmetic.
        folder: of the sweep.
    """

    settings: tuple[SweepSetting, ...]
    audio: SweepAudio
    common: Mapping[str, Any]
    scaled: frozenset[str]
    repeats: int
    threads: int
    folder: Path

    def options(self, setting: SweepSetting, recording: SweepRecording) -> dict[str, Any]:
        """Settings of a run by their Python names. Ceilings that a recording does not reach are
        one and the same run."""
        whole_s = setting.size.ceiling_s(recording.duration_s)
        if setting.size.order >= recording.duration_s and not (
            setting.model in self.scaled and setting.policy.name != "none"
        ):
            whole_s = type(setting.size)(None).ceiling_s(recording.duration_s)
        return {
            **self.common,
            "model": setting.model,
            "chunk_s": whole_s,
            "evict": setting.policy.name,
            "evict_options": dict(setting.policy.options),
        }

    def run(self, setting: SweepSetting, recording: SweepRecording) -> str:
        """Id of a run."""
        options = {**self.options(setting, recording), "threads": self.threads}
        return run_id(options, recording.sha256)

    def transcript(self, run: str, recording: SweepRecording) -> Path:
        """Where the transcript of a run lies."""
        return self.folder / TRANSCRIPTS / run / f"{recording.source.session_id}.json"


@dataclass(frozen=True, slots=True)
class _Job:
    run: str
    recording: SweepRecording
    label: str


def run_sweep(plan: SweepPlan, runs: RunFile, say: Say) -> None:
    """Run every repeat that is not in the file yet; what fails is a line with the reason."""
    rounds = [list(_missing(plan, runs, repeat)) for repeat in range(plan.repeats)]
    total, done = sum(len(jobs) for groups in rounds for _, jobs in groups), 0
    there = plan.repeats * len(_distinct(plan)) - total
    say(f"{total} runs to do, {there} are there" if there else f"{total} runs to do")
    machine = {
        "device": device_words(str(plan.common["device"])),
        "threads": plan.threads,
        "commit": commit(PACKAGE_ROOT) or "unknown",
    }
    for repeat, groups in enumerate(rounds):
        for options, jobs in groups:
            for job, answer in _answers(plan, options, jobs):
                done += 1
                line = _line(job, repeat, options, answer, machine)
                runs.add(line)
                end = f"failed: {line.failure}" if line.failure else f"{line.wall_s:.1f} s"
                say(f"{done} of {total}: {job.recording.source.session_id}, {job.label}: {end}")


def kinds_of(plan: SweepPlan) -> dict[str, AudioKind]:
    """Session → kind of audio, of the recordings with speech.

    Raises:
        WorkerError: it cannot be measured.
    """
    options = plan.options(plan.settings[0], plan.audio.recordings[0])
    found: dict[str, AudioKind] = {}
    with _opened(plan, options) as worker:
        for recording in plan.audio.recordings:
            source = recording.source
            answer = worker.ask(
                "kind", audio=str(source.path.absolute()), session=source.session_id
            )
            if answer["kind"] is not None:
                found[source.session_id] = AudioKind(answer["kind"])
    return found


def _distinct(plan: SweepPlan) -> dict[Path, tuple[SweepSetting, SweepRecording]]:
    """Runs by their transcripts; settings that mean the same on a recording share one, copies of a
    recording do not."""
    found: dict[Path, tuple[SweepSetting, SweepRecording]] = {}
    for setting in plan.settings:
        for recording in plan.audio.recordings:
            place = plan.transcript(plan.run(setting, recording), recording)
            found.setdefault(place, (setting, recording))
    return found


def _missing(
    plan: SweepPlan, runs: RunFile, repeat: int
) -> Iterator[tuple[dict[str, Any], list[_Job]]]:
    """Jobs of one round, those of the same settings together."""
    groups: dict[str, tuple[dict[str, Any], list[_Job]]] = {}
    for place, (setting, recording) in _distinct(plan).items():
        run = plan.run(setting, recording)
        if runs.done(run, repeat) and place.is_file():
            continue
        options = plan.options(setting, recording)
        key = json.dumps(options, sort_keys=True)
        groups.setdefault(key, (options, []))[1].append(_Job(run, recording, setting.label))
    yield from groups.values()


Answer = dict[str, Any] | WorkerError


def _answers(
    plan: SweepPlan, options: dict[str, Any], jobs: Sequence[_Job]
) -> Iterator[tuple[_Job, Answer]]:
    """Every job with its answer or its failure. After a failure the rest gets a new process."""
    waiting = list(jobs)
    while waiting:
        try:
            with _opened(plan, options) as worker:
                while waiting:
                    job = waiting[0]
                    answer: Answer = _transcribe(plan, worker, job)
                    yield waiting.pop(0), answer
                    if isinstance(answer, WorkerError):
                        break
        except WorkerError as error:
            # It does not open: nothing of these settings can run.
            while waiting:
                yield waiting.pop(0), error


def _transcribe(plan: SweepPlan, worker: WorkerProcess, job: _Job) -> Answer:
    folder = plan.transcript(job.run, job.recording).parent
    folder.mkdir(parents=True, exist_ok=True)
    source = job.recording.source
    try:
        return worker.ask(
            "transcribe",
            audio=str(source.path.absolute()),
            session=source.session_id,
            folder=str(folder.absolute()),
        )
    except WorkerError as error:
        return error


@contextmanager
def _opened(plan: SweepPlan, options: dict[str, Any]) -> Iterator[WorkerProcess]:
    """A process with the models of these settings, which has done a short job."""
    log = plan.folder / "worker.log"
    with WorkerProcess(Path(sys.executable), list(WORKER), plan.threads, log) as worker:
        worker.ask("open", options=options)
        with tempfile.TemporaryDirectory() as folder:
            worker.ask(
                "transcribe",
                audio=str(plan.audio.warm_up and plan.audio.warm_up.absolute()),
                session="warm_up",
                folder=folder,
            )
        yield worker


def _line(
    job: _Job, repeat: int, options: dict[str, Any], answer: Answer, machine: dict[str, Any]
) -> RunLine:
    about: dict[str, Any] = {
        "run": job.run,
        "repeat": repeat,
        "session": job.recording.source.session_id,
        "audio_s": job.recording.duration_s,
        "options": options,
        "machine": machine,
    }
    if isinstance(answer, WorkerError):
        return RunLine(**about, failure=str(answer))
    return RunLine(**about, **answer)
