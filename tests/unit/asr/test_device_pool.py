"""Several devices over one queue; stand-ins on the CPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest

from murmur_cli.asr.base import Job, Recognised, Recognition
from murmur_cli.asr.device_pool import PooledBackend, PooledSession
from murmur_cli.errors import ModelError
from murmur_cli.progress import ProgressHook, SilentProgress
from murmur_cli.types import Chunk, PackingRule, SampleSpan, Window
from support.factories import make_chunk_transcript, make_segment
from support.fake_stages import IDENTITY


@dataclass
class Device:
    """Says the index of each chunk. `together` holds every session in its first step until all
    have one; `fault` is raised by the step that has the named part."""

    packing: PackingRule | None = None
    together: threading.Barrier | None = None
    fault: tuple[str, Exception] | None = None
    breaks: bool = False
    heard: list[str] = field(default_factory=list)
    precision = "float32"
    identity = IDENTITY
    names_speakers = False

    def open_session(self, progress: ProgressHook) -> DeviceSession:
        progress.note("ready")
        return DeviceSession(self)


@dataclass
class DeviceSession:
    device: Device
    jobs: list[Job] = field(default_factory=list)
    is_closed: bool = False

    def submit(self, job: Job, *, more_follow: bool) -> None:
        self.jobs.append(job)
        self.device.heard.append(job.recording)

    @property
    def busy(self) -> bool:
        return bool(self.jobs)

    @property
    def wants_more(self) -> bool:
        return not self.jobs

    def step(self) -> list[Recognised]:
        if self.device.together is not None:
            self.device.together.wait(timeout=30)
            self.device.together = None
        job = self.jobs.pop()
        fault = self.device.fault
        if fault is not None and job.recording == fault[0]:
            if self.device.breaks:
                raise fault[1]
            return [Recognised(job.recording, fault[1])]
        made = tuple(
            make_chunk_transcript(
                [make_segment(f"chunk {chunk.index}", *_times(chunk), chunk_index=chunk.index)],
                chunk.index,
            )
            for chunk in job.chunks
        )
        return [Recognised(job.recording, Recognition(made, "en", 0.5, ("hot",)))]

    def close(self) -> None:
        self.is_closed = True


def _times(chunk: Chunk) -> tuple[float, float]:
    return chunk.span.time.start_s, chunk.span.time.end_s


def job(name: str, chunks: int) -> Job:
    spans = [SampleSpan(16_000 * n, 16_000 * (n + 1)) for n in range(chunks)]
    return Job(
        name,
        np.zeros(16_000 * max(1, chunks), np.float32),
        [Chunk(n, span, (Window(span, (span,), (span,)),)) for n, span in enumerate(spans)],
    )


def run(session: PooledSession, jobs: Sequence[Job]) -> dict[str, Recognition | Exception]:
    for number, each in enumerate(jobs):
        session.submit(each, more_follow=number < len(jobs) - 1)
    done = {}
    try:
        while session.busy:
            done |= {one.recording: one.result for one in session.step()}
    finally:
        session.close()
    return done


def texts(result: Recognition | Exception) -> list[str]:
    assert isinstance(result, Recognition)
    return [segment.text for chunk in result.chunks for segment in chunk.segments]


def test_chunks_of_one_recording_are_shared_out_and_come_back_in_order() -> None:
    barrier = threading.Barrier(2)
    devices = [Device(together=barrier), Device(together=barrier)]
    backend = PooledBackend(devices)
    assert backend.precision == "float32 on 2 devices"
    done = run(backend.open_session(SilentProgress()), [job("a", 5), job("b", 1)])
    assert texts(done["a"]) == [f"chunk {n}" for n in range(5)]
    assert texts(done["b"]) == ["chunk 0"]
    result = done["a"]
    assert isinstance(result, Recognition)
    assert (result.language, result.wall_s, result.notes) == ("en", 2.5, ("hot",))
    # Each device met the other at the barrier, so both had a part.
    assert all(device.heard for device in devices)
    assert sorted(name for device in devices for name in device.heard) == sorted(
        [f"a part {n}" for n in range(5)] + ["b part 0"]
    )


def test_recordings_stay_whole_where_the_backend_looks_at_them_so() -> None:
    device = Device(packing=PackingRule(30.0, 60.0, 1.0))
    done = run(PooledBackend([device]).open_session(SilentProgress()), [job("a", 3)])
    assert device.heard == ["a part 0"]
    assert texts(done["a"]) == ["chunk 0", "chunk 1", "chunk 2"]


def test_a_part_that_fails_fails_its_recording_alone() -> None:
    device = Device(fault=("a part 1", OSError("gone")))
    done = run(PooledBackend([device]).open_session(SilentProgress()), [job("a", 4), job("b", 2)])
    assert isinstance(done["a"], OSError)
    assert texts(done["b"]) == ["chunk 0", "chunk 1"]


def test_a_recording_without_chunks_is_done() -> None:
    done = run(PooledBackend([Device()]).open_session(SilentProgress()), [job("a", 0)])
    assert texts(done["a"]) == []


def test_what_stops_a_device_is_raised_by_the_step() -> None:
    device = Device(fault=("a part 0", ModelError("out of memory")), breaks=True)
    session = PooledBackend([device]).open_session(SilentProgress())
    with pytest.raises(ModelError, match="out of memory"):
        run(session, [job("a", 1)])


def test_closing_ends_workers_that_wait_and_those_at_work() -> None:
    devices = [Device(), Device()]
    session = PooledBackend(devices).open_session(SilentProgress())
    session.submit(job("a", 3), more_follow=True)
    session.close()
    assert not any(thread.name.startswith("device ") for thread in threading.enumerate())
