"""pyannote.audio's own pipeline (community-1) as the local diarizer.

It finds the turns of a chunk. The voices behind them are embedded by CAM++ as everywhere else,
so that stitching, its threshold and stored voices mean the same whoever found the turns.

The pipeline's weights are gated and come from the model hub's cache; a run fetches nothing.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from murmur_cli.diarization.base import NO_HINTS, ToldTurn
from murmur_cli.diarization.embedding import Embedder
from murmur_cli.diarization.long_chunk import diarize_in_parts
from murmur_cli.diarization.told_voices import voices_of_turns
from murmur_cli.errors import ModelError
from murmur_cli.timebase import SAMPLE_RATE_HZ, to_seconds
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    LocalTurn,
    ModelIdentity,
    SampleSource,
    SpeakerHints,
    TimeSpan,
)

Pipeline = Callable[..., Any]
"""A loaded pipeline: called with a mapping of waveform and sample rate, and numbers of speakers;
its answer has `speaker_diarization`, a pyannote Annotation."""

TELEMETRY_VARIABLE = "PYANNOTE_METRICS_ENABLED"
"""pyannote.audio reports its use over the network unless this is 0."""


class PyannoteDiarizer:
    """A `LocalDiarizer` around a loaded pipeline."""

    def __init__(
        self, pipeline: Pipeline, embedder: Embedder, identities: tuple[ModelIdentity, ...]
    ) -> None:
        """Take what is loaded.

        Args:
            pipeline: see `load_pipeline`.
            embedder: of the voices.
            identities: the pipeline's and the embedder's weights, in this order.
        """
        self._pipeline = pipeline
        self._embedder = embedder
        self._identities = identities

    @property
    def identities(self) -> tuple[ModelIdentity, ...]:
        """The weights in use."""
        return self._identities

    @property
    def voice_model(self) -> ModelIdentity:
        """See `LocalDiarizer.voice_model`."""
        return self._identities[1]

    def diarize(
        self, samples: SampleSource, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        """See `LocalDiarizer.diarize`; a very long chunk goes in parts (`long_chunk`)."""
        return diarize_in_parts(
            chunk, hints, lambda part, limits: self._diarize(samples, part, limits)
        )

    def _diarize(
        self, samples: SampleSource, chunk: Chunk, hints: SpeakerHints
    ) -> ChunkDiarization:
        import torch

        waveform = torch.from_numpy(samples[chunk.span.start : chunk.span.end].copy())[None]
        with torch.inference_mode(), warnings.catch_warnings():
            # Of statistics over a single frame, and of hints that a short chunk cannot meet,
            # which stitching says in the product's own words.
            warnings.simplefilter("ignore")
            found = self._pipeline(
                {"waveform": waveform, "sample_rate": SAMPLE_RATE_HZ}, **_numbers(hints)
            )
        turns = _turns(found.speaker_diarization, chunk)
        return voices_of_turns(self._embedder, samples, chunk, [ToldTurn(turn) for turn in turns])

    def voices(
        self, samples: SampleSource, chunk: Chunk, told: Sequence[ToldTurn]
    ) -> ChunkDiarization:
        """See `LocalDiarizer.voices`."""
        return voices_of_turns(self._embedder, samples, chunk, told)


def load_pipeline(folder: Path) -> Pipeline:
    """The pipeline in a folder of the hub's cache.

    Raises:
        ModelError: pyannote.audio cannot read it.
    """
    os.environ[TELEMETRY_VARIABLE] = "0"
    with warnings.catch_warnings():
        # pyannote.audio warns that it finds no decoder for files; it is given samples.
        warnings.simplefilter("ignore")
        from pyannote.audio import Pipeline as Loader

        try:
            loaded: Pipeline | None = Loader.from_pretrained(folder)
        except Exception as error:
            # Of whatever kind: YAML, pickles, shapes and versions are checked by four libraries.
            reason = str(error).strip().splitlines()[0] if str(error).strip() else ""
            raise ModelError(
                f"--diarizer pyannote: {folder} cannot be loaded ({type(error).__name__}: "
                f"{reason}); fetch it anew, or use --diarizer embedded"
            ) from error
    if loaded is None:
        raise ModelError(f"--diarizer pyannote: {folder} holds no pipeline")
    return loaded


def _numbers(hints: SpeakerHints) -> Mapping[str, int]:
    """The hints by the pipeline's names."""
    given = {
        "num_speakers": hints.exact,
        "min_speakers": hints.minimum,
        "max_speakers": hints.maximum,
    }
    return {name: number for name, number in given.items() if number is not None}


def _turns(annotation: Any, chunk: Chunk) -> list[LocalTurn]:
    """Turns inside the chunk in order of time, speakers numbered in order of first speech."""
    start_s, end_s = to_seconds(chunk.span.start), to_seconds(chunk.span.end)
    found: list[tuple[float, float, str]] = []
    for segment, _, label in annotation.itertracks(yield_label=True):
        first_s, last_s = start_s + max(0.0, segment.start), min(end_s, start_s + segment.end)
        if first_s < last_s:
            found.append((first_s, last_s, str(label)))
    number: dict[str, int] = {}
    turns = [
        LocalTurn(TimeSpan(first_s, last_s), number.setdefault(label, len(number)))
        for first_s, last_s, label in sorted(found)
    ]
    return sorted(turns)
