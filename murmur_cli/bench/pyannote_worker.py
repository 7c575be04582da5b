"""pyannote.audio's diarization pipeline on the packaged weights, as a contender.

Segmentation 3.0 and CAM++ come from the same files as Murmur's. All else, windows, counting,
clustering and its parameters, is what pyannote/speaker-diarization-3.1 publishes. (community-1
groups by VBx, whose PLDA fits its own embeddings only.) Runs in Murmur's own environment.

open {"options": parameters of the clustering that differ} · run {"audio": [16 kHz wave files]}
"""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import soundfile
import torch
import torch.nn.functional as F

from murmur_cli.bench.json_lines import clocked, serve
from murmur_cli.bench.peak_memory import peak_bytes, reset_peak
from murmur_cli.diarization.campplus import DIMENSION, CamPlusPlus
from murmur_cli.diarization.checkpoint import load_network
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.diarization.folded_campplus import FoldedCamPlusPlus
from murmur_cli.diarization.on_cores import on_cores
from murmur_cli.diarization.pyannote_pipeline import TELEMETRY_VARIABLE
from murmur_cli.models.weights import packaged_file

os.environ[TELEMETRY_VARIABLE] = "0"
with warnings.catch_warnings():
    # pyannote.audio warns that it finds no decoder for files; it is given samples.
    warnings.simplefilter("ignore")
    from pyannote.audio import Model
    from pyannote.audio.core.plda import PLDA
    from pyannote.audio.pipelines import SpeakerDiarization

BATCH = 32
CLUSTERING = {"method": "centroid", "min_cluster_size": 12, "threshold": 0.7045654963945799}
SEGMENTATION = {"min_duration_off": 0.0}
"""Parameters of pyannote/speaker-diarization-3.1."""

MIN_FRAMES = 10
"""CAM++ says nothing of less than 0.1 s."""


class CamPlusPlusModel(Model):  # type: ignore[misc]  # no types are shipped
    """CAM++ as pyannote.audio calls an embedding: signals with weights of frames."""

    dimension = DIMENSION

    def __init__(self, sample_rate: int = 16_000, num_channels: int = 1) -> None:
        super().__init__(sample_rate=sample_rate, num_channels=num_channels)
        network = CamPlusPlus()
        load_network(network, packaged_file("campplus").path)
        self._network = FoldedCamPlusPlus(network)

    def forward(self, waveforms: torch.Tensor, weights: torch.Tensor | None = None) -> torch.Tensor:
        """Embeddings (batch, 192) of (batch, 1, samples); only frames weighted above a half count.

        A signal with too few frames gives NaN, as pyannote.audio expects.

        Args:
            waveforms: 16 kHz.
            weights: (batch, frames), from 0 to 1, over the same time.

        Raises:
            ValueError: without weights, the signals are too short.
        """
        features = [log_mel(signal.numpy()) for signal in waveforms[:, 0]]
        if weights is None and features[0].shape[0] < MIN_FRAMES:
            raise ValueError("too short")
        if weights is not None:
            features = [
                own[F.interpolate(mask[None, None], size=len(own))[0, 0] > 0.5]
                for own, mask in zip(features, weights, strict=True)
            ]
        return torch.stack(on_cores(self._embedding, features))

    def _embedding(self, features: torch.Tensor) -> torch.Tensor:
        if len(features) < MIN_FRAMES:
            return torch.full((DIMENSION,), torch.nan)
        with torch.inference_mode():
            return self._network((features - features.mean(dim=0))[None])[0]


class PyannoteWorker:
    """Holds the pipeline."""

    def __init__(self) -> None:
        self._pipeline: Any = None

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load the weights and set the parameters."""
        from importlib import metadata

        # The pickle may hold code; its bytes are the expected ones (`packaged_file`).
        segmentation = Model.from_pretrained(packaged_file("segmentation-3.0").path)
        self._pipeline = SpeakerDiarization(
            segmentation=segmentation,
            segmentation_batch_size=BATCH,
            embedding=CamPlusPlusModel(),
            embedding_batch_size=BATCH,
            embedding_exclude_overlap=True,
            plda=PLDA.__new__(PLDA),  # it must be there, and is not used
            clustering="AgglomerativeClustering",
        )
        clustering = CLUSTERING | request["options"]
        self._pipeline.instantiate({"clustering": clustering, "segmentation": SEGMENTATION})
        return {"remark": "", "versions": {"pyannote.audio": metadata.version("pyannote.audio")}}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """The turns of each recording."""
        answer: dict[str, Any] = {"results": []}
        reset_peak()
        with clocked(answer):
            for audio in request["audio"]:
                began = time.perf_counter()
                turns = self._turns(audio)
                took_s = time.perf_counter() - began
                answer["results"].append({"words": None, "turns": turns, "speakers_s": took_s})
        answer["peak_bytes"] = peak_bytes()
        return answer

    def _turns(self, audio: str) -> list[tuple[float, float, str]]:
        samples, rate_hz = soundfile.read(audio, dtype="float32")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of statistics over a single frame
            found = self._pipeline(
                {"waveform": torch.from_numpy(samples)[None], "sample_rate": rate_hz}
            )
        tracks = found.speaker_diarization.itertracks(yield_label=True)
        return [(turn.start, turn.end, str(label)) for turn, _, label in tracks]


if __name__ == "__main__":
    worker = PyannoteWorker()
    serve({"open": worker.open, "run": worker.run})
