"""`murmur bench`: the engine part on one model, as a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.bench.engine_setting import EngineSetting
from murmur_cli.bench.record import BenchReport
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.errors import UsageError
from murmur_cli.models.choice import choose_model
from murmur_cli.models.device import resolve_device
from murmur_cli.settings import Precision, TranscribeSettings

MIN_STEPS = 2
"""The first step is timed with the start."""


@dataclass(frozen=True, slots=True)
class EngineRequest:
    """What to measure, as `murmur bench` takes it; the first setting is the baseline."""

    model: str
    settings: tuple[EngineSetting, ...]
    audio: Sequence[str]
    batch_size: int
    steps: int
    rounds: int
    device: str
    threads: int | None
    precision: Precision = Precision.EXACT


def engine_report(
    asked: EngineRequest, watch: Callable[[int, int], None] = lambda done, rounds: None
) -> BenchReport:
    """Load the model and measure. Options are checked before anything is loaded.

    Raises:
        UsageError: a wrong option.
        ModelError: the model cannot be loaded.
        RecordingError: the audio cannot be read.
    """
    for name, value in (("--rounds", asked.rounds), ("--threads", asked.threads)):
        if value is not None and value < 1:
            raise UsageError(f"{name} {value}: give 1 or more")
    if asked.steps < MIN_STEPS:
        raise UsageError(f"--steps {asked.steps}: give {MIN_STEPS} or more")
    for setting in asked.settings:
        build_policy(setting.policy, setting.options, WHISPER_RATES)
    load = TranscribeSettings(
        model=asked.model, batch_size=asked.batch_size, precision=asked.precision
    )
    device = resolve_device(asked.device)
    choice = choose_model(asked.model, device)

    import torch

    from murmur_cli.bench.engine_part import measure_engine
    from murmur_cli.bench.engine_subject import load_subject
    from murmur_cli.bench.machine_record import machine_record, model_words

    if asked.threads is not None:
        torch.set_num_threads(asked.threads)
    subject = load_subject(choice, load, device, asked.audio, asked.batch_size)
    part = measure_engine(
        subject,
        asked.settings,
        slots=asked.batch_size,
        steps=asked.steps,
        rounds=asked.rounds,
        watch=watch,
    )
    described = {
        "model": model_words(choice.name),
        "evict": [entry.name for entry in asked.settings],
        "precision": subject.precision,
        "batch_size": asked.batch_size,
        "steps": asked.steps,
        "rounds": asked.rounds,
        "audio": "synthetic" if list(asked.audio) == ["synthetic"] else "recordings",
    }
    return BenchReport(
        "engine", described, machine_record(device, torch.get_num_threads()), (part,)
    )
