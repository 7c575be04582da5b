"""Runs of one setting in a process of its own, so that peak memory is that setting's.

open {"options": …} as the bench's worker ·
transcribe {"audio", "session", "folder"}: one job; writes SESSION.json there ·
kind {"audio", "session"}: clean, noisy, or null without speech
"""

from __future__ import annotations

import dataclasses
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.bench.json_lines import clocked, serve
from murmur_cli.bench.murmur_worker import MurmurWorker
from murmur_cli.bench.peak_memory import peak_bytes, reset_peak
from murmur_cli.chunk_advice import measured_kind
from murmur_cli.pipeline import Pipeline
from murmur_cli.progress import SilentProgress
from murmur_cli.writers.output import write_outputs


class SweepWorker(MurmurWorker):
    """The bench's worker, one recording a job, with the transcript as a file."""

    def transcribe(self, request: dict[str, Any]) -> dict[str, Any]:
        """One recording, from the file to the transcript; writing it is not timed.

        Raises:
            MurmurError: it failed.
        """
        assert self._stages is not None, "open comes first"
        source = InputFile(Path(request["audio"]), request["session"])
        answer: dict[str, Any] = {}
        reset_peak()
        _reset_device_peak()
        with clocked(answer):
            pipeline = Pipeline(self._settings, self._stages, self._device, SilentProgress())
            with closing(pipeline.run([source])) as done:
                (one,) = done
        if isinstance(one.result, Exception):
            raise one.result
        answer["peak_bytes"] = peak_bytes()
        answer["device_peak_bytes"] = _device_peak_bytes()
        answer["stages_s"] = {timing.stage: timing.wall_s for timing in one.result.timings}
        answer["kv"] = dataclasses.asdict(one.result.kv)
        write_outputs(one.result, ["json"], Path(request["folder"]), source.session_id)
        return answer

    def kind(self, request: dict[str, Any]) -> dict[str, Any]:
        """What kind of audio a recording is; with several channels, their mix.

        Raises:
            RecordingError: it cannot be read.
        """
        assert self._stages is not None, "open comes first"
        recording = read_recording(InputFile(Path(request["audio"]), request["session"]))
        speech = self._stages.detector.get().detect(recording.samples)
        diarizer = self._stages.diarizer
        if not speech:
            return {"kind": None}
        ready = diarizer.get() if diarizer is not None else None
        return {"kind": measured_kind(recording.samples, speech, ready)}


def _reset_device_peak() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.reset_peak_memory_stats()


def _device_peak_bytes() -> int | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return None
    return int(torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    worker = SweepWorker()
    serve({"open": worker.open, "transcribe": worker.transcribe, "kind": worker.kind})
