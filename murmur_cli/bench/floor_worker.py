"""Murmur's diarizer with the reference's voices: the floor below every clustering.

open {"options": as for Murmur's own worker} ·
run {"audio": [paths], "turns": [[[start, end, speaker], …] of each]}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from murmur_cli.asr.registry import recogniser_for
from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.bench.bench_audio import Spoken
from murmur_cli.bench.json_lines import clocked, serve
from murmur_cli.bench.murmur_worker import settings_of
from murmur_cli.bench.peak_memory import peak_bytes, reset_peak
from murmur_cli.bench.reference_voices import ReferenceVoices
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.diarization.embedded import EmbeddedDiarizer
from murmur_cli.models.choice import choose_model
from murmur_cli.models.weights import packaged_file
from murmur_cli.progress import SilentProgress
from murmur_cli.speaker_stage import speakers_of
from murmur_cli.vad.silero import SileroVad


class FloorWorker:
    """Diarizes recordings whose turns it is told."""

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load the detector of speech, find the weights, and plan chunks as for the recogniser,
        which itself is not loaded."""
        self._settings = settings_of(request["options"])
        choice = choose_model(self._settings.model, "cpu")
        self._packing = recogniser_for(choice, self._settings, "cpu", SilentProgress()).packing
        self._detector = SileroVad()
        self._segmentation = packaged_file("segmentation-3.0").path
        self._embedding = packaged_file("campplus").path
        return {}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """The turns of each recording."""
        answer: dict[str, Any] = {}
        reset_peak()
        with clocked(answer):
            answer["results"] = [
                {"words": None, "turns": self._turns(Path(audio), [Spoken(*row) for row in turns])}
                for audio, turns in zip(request["audio"], request["turns"], strict=True)
            ]
        answer["peak_bytes"] = peak_bytes()
        return answer

    def _turns(self, audio: Path, told: list[Spoken]) -> list[tuple[float, float, str]]:
        samples = read_recording(InputFile(audio, audio.stem)).samples
        plan = plan_chunks(
            self._detector.detect(samples),
            samples,
            max_chunk_s=self._settings.chunk_s,
            packing=self._packing,
        )
        diarizer = EmbeddedDiarizer(
            self._segmentation, self._embedding, piece_voices=ReferenceVoices(told)
        )
        local = [diarizer.diarize(samples, chunk) for chunk in plan.chunks]
        timeline = speakers_of(local, self._settings, None).timeline
        return [(turn.span.start_s, turn.span.end_s, turn.speaker) for turn in timeline.turns]


if __name__ == "__main__":
    worker = FloorWorker()
    serve({"open": worker.open, "run": worker.run})
