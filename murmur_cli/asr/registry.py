"""Which backend answers for a chosen model, before its weights are loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from murmur_cli.asr.base import AsrBackend
from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING, WHISPER_RATES
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.models.choice import ModelChoice, prepare
from murmur_cli.progress import ProgressHook
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import PackingRule


@dataclass(frozen=True, slots=True)
class Recogniser:
    """A backend to be: how it wants its windows, and how to load it (seconds, heavy imports)."""

    packing: PackingRule | None
    load: Callable[[], AsrBackend]


def check_eviction(settings: TranscribeSettings) -> None:
    """Reject a wrong policy or option before anything is loaded.

    Raises:
        UsageError: unknown policy, unknown option or a value out of range.
    """
    build_policy(settings.evict, settings.evict_options, WHISPER_RATES)


def check_request(choice: ModelChoice, settings: TranscribeSettings) -> None:
    """Reject a language or task that the chosen model does not know, before audio is read.

    An embedded model that was never converted is asked only when it loads.

    Raises:
        UsageError: the model lacks the language or the task.
        ModelError: the files that say so are missing or unreadable.
    """
    asks_nothing = settings.language is None and settings.task == "transcribe"
    if asks_nothing or not choice.location.is_dir():
        return
    from murmur_cli.asr.whisper.tokens import load_tokens

    tokens = load_tokens(choice.location)
    tokens.prompt(settings.language or next(iter(tokens.languages), None), settings.task)


def recogniser_for(
    choice: ModelChoice, settings: TranscribeSettings, device: str, progress: ProgressHook
) -> Recogniser:
    """The backend for a model. Every choice so far is a Whisper of transformers."""

    def load() -> AsrBackend:
        from murmur_cli.asr.whisper.loading import load_whisper
        from murmur_cli.asr.whisper.session import WhisperOptions

        folder = prepare(choice, progress)
        return load_whisper(
            folder.path,
            folder.identity,
            device=device,
            precision=settings.precision,
            evict=settings.evict,
            evict_options=settings.evict_options,
            options=WhisperOptions(settings.language, settings.task, settings.batch_size),
        )

    return Recogniser(WHISPER_PACKING, load)
