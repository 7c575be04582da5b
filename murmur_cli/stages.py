"""The stages of a run, loaded once for all recordings, in the background."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

from murmur_cli.asr.base import AsrBackend
from murmur_cli.asr.registry import recogniser_for
from murmur_cli.diarization.base import LocalDiarizer
from murmur_cli.models.choice import ModelChoice
from murmur_cli.models.weights import WeightFile, packaged_file
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import DiarizerKind, TranscribeSettings
from murmur_cli.types import PackingRule
from murmur_cli.vad.base import VoiceActivityDetector

Stage = TypeVar("Stage")


class Loading(Generic[Stage]):
    """A stage that loads while others work; `get` waits for it."""

    def __init__(self, load: Callable[[], Stage], pool: ThreadPoolExecutor) -> None:
        self._future: Future[Stage] = pool.submit(load)

    @classmethod
    def done(cls, stage: Stage) -> Loading[Stage]:
        """A stage that is loaded already."""
        loading = cls.__new__(cls)
        loading._future = Future()
        loading._future.set_result(stage)
        return loading

    def get(self) -> Stage:
        """The loaded stage; raises what loading raised."""
        return self._future.result()


@dataclass(frozen=True, slots=True)
class Stages:
    """What the pipeline calls.

    `recogniser` is None where no words are wanted, `diarizer` with --no-diarize.
    """

    detector: Loading[VoiceActivityDetector]
    packing: PackingRule | None
    recogniser: Loading[AsrBackend] | None
    diarizer: Loading[LocalDiarizer] | None


@contextmanager
def start_stages(
    settings: TranscribeSettings, choice: ModelChoice | None, device: str, progress: ProgressHook
) -> Iterator[Stages]:
    """Begin to load every stage that the settings ask for; at the end, what has not begun to
    load is left alone.

    One thread loads them in the order in which they are needed: imports hold a lock anyway,
    and the first recording is decoded meanwhile.

    Args:
        choice: the recogniser; None if no words are wanted.

    Raises:
        ModelError: the speaker networks are missing or damaged. They are loaded last, so this
            is said now and not after an hour of recognition.
    """
    recogniser = recogniser_for(choice, settings, device, progress) if choice else None
    load_diarizer = _diarizer_loader(settings.diarizer) if settings.diarize else None
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="load")
    stages = Stages(
        detector=Loading(_load_detector, pool),
        packing=recogniser.packing if recogniser is not None else None,
        recogniser=Loading(recogniser.load, pool) if recogniser is not None else None,
        diarizer=Loading(load_diarizer, pool) if load_diarizer is not None else None,
    )
    # The thread must end with its last load: an idle thread that once ran torch keeps OpenMP
    # workers, and with more workers than cores OpenMP sleeps at every barrier of all others.
    # Measured on 2 cores: diarization 12 s instead of 5, recognition 24 s instead of 20.
    pool.shutdown(wait=False)
    try:
        yield stages
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _load_detector() -> VoiceActivityDetector:
    from murmur_cli.vad.silero import SileroVad

    return SileroVad()


def _diarizer_loader(kind: DiarizerKind) -> Callable[[], LocalDiarizer]:
    embedding = packaged_file("campplus")
    if kind is DiarizerKind.PYANNOTE:
        from murmur_cli.models.pyannote_weights import pyannote_weights

        return partial(_load_pyannote, pyannote_weights(), embedding)
    return partial(_load_embedded, packaged_file("segmentation-3.0"), embedding)


def _load_embedded(segmentation: WeightFile, embedding: WeightFile) -> LocalDiarizer:
    from murmur_cli.diarization.embedded import EmbeddedDiarizer

    return EmbeddedDiarizer(
        segmentation.path, embedding.path, (segmentation.identity, embedding.identity)
    )


def _load_pyannote(pipeline: WeightFile, embedding: WeightFile) -> LocalDiarizer:
    from murmur_cli.diarization.embedding import Embedder
    from murmur_cli.diarization.pyannote_pipeline import PyannoteDiarizer, load_pipeline

    return PyannoteDiarizer(
        load_pipeline(pipeline.path),
        Embedder(embedding.path),
        (pipeline.identity, embedding.identity),
    )
