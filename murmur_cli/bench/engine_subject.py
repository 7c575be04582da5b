"""A model's decoder and requests for it: what the engine part measures.

Windows are cut from audio without a detector and encoded once, before any clock runs: the
encoder's time does not depend on a policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from murmur_cli.asr.registry import recogniser_for
from murmur_cli.asr.whisper.backend import WhisperBackend
from murmur_cli.asr.whisper.decoder import WindowSource
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.tokens import load_tokens
from murmur_cli.audio.discover import find_inputs
from murmur_cli.audio.reader import read_recording
from murmur_cli.bench.synthetic_audio import synthetic_audio
from murmur_cli.engine.model_adapter import DecoderAdapter
from murmur_cli.engine.policies.base import RequestRates
from murmur_cli.engine.request import Request
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.models.choice import ModelChoice, prepare
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import TranscribeSettings
from murmur_cli.timebase import to_samples
from murmur_cli.types import Samples, SampleSpan

SYNTHETIC = "synthetic"


@dataclass(frozen=True, slots=True)
class EngineSubject:
    """A loaded decoder.

    Attributes:
        adapter: the decoder.
        rates: with which policies are built.
        precision: number format of its arithmetic.
        speech_entries: of one request.
        windows: encoded windows, (entries, width) each.
        prompt: of every request.
    """

    adapter: DecoderAdapter
    rates: RequestRates
    precision: str
    speech_entries: int
    windows: tuple[torch.Tensor, ...]
    prompt: tuple[int, ...]

    def requests(self, count: int, tokens: int) -> list[Request]:
        """`count` requests of `tokens` output tokens; windows recur if they are too few."""
        nothing = np.zeros(0, dtype=np.float32)
        return [
            Request(
                key=f"request {number}",
                source=WindowSource(nothing, (), self.windows[number % len(self.windows)]),
                prompt=self.prompt,
                audio_s=self.rates.request_s,
                max_new_tokens=tokens,
            )
            for number in range(count)
        ]


class NeverEnds:
    """A TokenRule that forbids the end token, so that every row of every policy does as many
    steps; nothing counts as text, so that no loop is found."""

    def __init__(self, end_tokens: Iterable[int]) -> None:
        self._end_tokens = list(end_tokens)

    @property
    def is_fixed(self) -> bool:
        """False: rows must not end."""
        return False

    def restrict(self, logits: torch.Tensor, outputs: object) -> None:
        """Forbid the end token."""
        logits[:, self._end_tokens] = -torch.inf

    def is_text(self, token: int) -> bool:
        """Nothing is."""
        return False


def load_subject(
    choice: ModelChoice, settings: TranscribeSettings, device: str, audio: Sequence[str], slots: int
) -> EngineSubject:
    """Load the model and encode up to `slots` windows of the audio.

    audio: paths of recordings, or the one word 'synthetic'.

    Raises:
        ModelError: the model cannot be loaded, or is none that decodes in the engine.
        RecordingError: a file cannot be read.
        UsageError: the audio is empty, or a path is missing.
    """
    backend = recogniser_for(choice, settings, device, SilentProgress()).load()
    if not isinstance(backend, WhisperBackend):
        raise ModelError(f"{choice.name}: does not decode in Murmur's engine; bench a Whisper")
    decoder: Any = backend.decoder
    tokens = load_tokens(prepare(choice).path)
    language = "en" if "en" in tokens.languages else next(iter(tokens.languages), None)
    window_samples = to_samples(decoder.speech_entries / WHISPER_RATES.speech_entries_per_s)
    samples = _samples(audio, window_samples * slots)
    starts = range(0, len(samples) - window_samples + 1, window_samples) or (0,)
    windows = [
        WindowSource(samples, (SampleSpan(start, min(start + window_samples, len(samples))),))
        for start in list(starts)[:slots]
    ]
    encoded = [decoder.encode([window.audio])[0] for window in windows]
    return EngineSubject(
        adapter=decoder,
        rates=WHISPER_RATES,
        precision=backend.precision,
        speech_entries=decoder.speech_entries,
        windows=tuple(encoded),
        prompt=tokens.prompt(language, "transcribe"),
    )


def _samples(audio: Sequence[str], wanted: int) -> Samples:
    """The first `wanted` samples of the recordings, joined."""
    if list(audio) == [SYNTHETIC]:
        return synthetic_audio(wanted / to_samples(1.0))
    found: list[Samples] = []
    for source in find_inputs([Path(name) for name in audio], recursive=False):
        found.append(read_recording(source).samples[:wanted])
        if sum(map(len, found)) >= wanted:
            break
    joined = np.concatenate(found) if found else np.zeros(0, dtype=np.float32)
    if not len(joined):
        raise UsageError(f"--audio {' '.join(audio)}: holds no audio")
    return joined[:wanted]
