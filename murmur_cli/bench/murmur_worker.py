"""Murmur as a contender: stages stay loaded, one line of JSON a job. See `json_lines`.

open {"options": settings by their Python names} · run {"audio": [paths]}
"""

from __future__ import annotations

import dataclasses
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from murmur_cli.asr.registry import check_request
from murmur_cli.audio.discover import InputFile
from murmur_cli.bench.json_lines import clocked, serve
from murmur_cli.bench.peak_memory import peak_bytes, reset_peak
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import choose_model
from murmur_cli.models.device import resolve_device
from murmur_cli.near_name import did_you_mean
from murmur_cli.pipeline import Pipeline
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import Precision, TranscribeSettings, parse_diarizer
from murmur_cli.stages import Stages, start_stages
from murmur_cli.types import KvUsage, Transcript


class MurmurWorker:
    """Holds the stages of one setting; a second `open` replaces them."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._settings = TranscribeSettings()
        self._device = "cpu"
        self._stages: Stages | None = None

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load every stage and wait for it."""
        self._stack.close()
        self._settings = settings_of(request["options"])
        self._device = resolve_device(self._settings.device)
        choice = choose_model(self._settings.model, self._device)
        check_request(choice, self._settings)
        progress = SilentProgress()
        self._stages = self._stack.enter_context(
            start_stages(self._settings, choice, self._device, progress)
        )
        self._stages.detector.get()
        assert self._stages.recogniser is not None, "a job recognises"
        recogniser = self._stages.recogniser.get()
        if self._stages.diarizer is not None:
            self._stages.diarizer.get()
        return {"precision": recogniser.precision}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Transcribe recordings as one call of the program does.

        Raises:
            MurmurError: one of them failed.
        """
        assert self._stages is not None, "open comes first"
        paths = [Path(path) for path in request["audio"]]
        sources = [InputFile(path, path.stem) for path in paths]
        answer: dict[str, Any] = {}
        reset_peak()
        with clocked(answer):
            pipeline = Pipeline(self._settings, self._stages, self._device, SilentProgress())
            done = {one.source.session_id: one.result for one in pipeline.run(sources)}
        answer["peak_bytes"] = peak_bytes()
        answer["results"] = [_result(done[source.session_id]) for source in sources]
        return answer


def settings_of(options: dict[str, Any]) -> TranscribeSettings:
    """Settings from a recipe; values of `evict_options` may be numbers.

    Raises:
        UsageError: an unknown name.
        ValueError: an unknown precision.
    """
    known = [field.name for field in dataclasses.fields(TranscribeSettings)]
    for name in options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise UsageError(f"murmur has no setting '{name}'{hint}; it has: {', '.join(known)}")
    made = dict(options)
    if "evict_options" in options:
        given = options["evict_options"]
        made["evict_options"] = {key: option_text(value) for key, value in given.items()}
    if "precision" in options:
        made["precision"] = Precision(options["precision"])
    if "diarizer" in options:
        made["diarizer"] = parse_diarizer(options["diarizer"])
    return TranscribeSettings(**made)


def option_text(value: object) -> str:
    """A value of TOML as it is written after `--evict-opt key=`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _result(transcript: Transcript | Exception) -> dict[str, Any]:
    if isinstance(transcript, Exception):
        raise transcript
    kv = sum((chunk.kv for chunk in transcript.chunks), KvUsage())
    return {
        "words": [
            (word.span.start_s, word.span.end_s, word.text, word.speaker)
            for word in transcript.words
        ],
        "turns": [(turn.span.start_s, turn.span.end_s, turn.speaker) for turn in transcript.turns],
        "kv": dataclasses.asdict(kv),
        "stages_s": {timing.stage: timing.wall_s for timing in transcript.timings},
    }


if __name__ == "__main__":
    worker = MurmurWorker()
    serve({"open": worker.open, "run": worker.run})
