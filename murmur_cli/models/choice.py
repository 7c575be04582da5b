"""Which recogniser a run uses, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from murmur_cli.errors import ModelError
from murmur_cli.models.catalog import CATALOG, CatalogEntry, Purpose, find_entry
from murmur_cli.models.embedded_whisper import (
    WHISPER_SOURCES,
    ModelFolder,
    converted_folder,
    embedded_whisper,
    usable_source,
)
from murmur_cli.models.hub import cached_snapshot, hub_cache
from murmur_cli.models.local_model import WHISPER_TYPE, check_model_folder, local_model
from murmur_cli.models.weights import EMBEDDED_INSTALL
from murmur_cli.near_name import near_name
from murmur_cli.progress import ProgressHook

DEFAULT_EMBEDDED = "whisper-base"
FLAGSHIP = "microsoft/VibeVoice-ASR-HF"


class ModelKind(StrEnum):
    """Where a chosen model comes from."""

    EMBEDDED = "embedded"
    """Converted from packages on first use."""
    FOLDER = "folder"
    """As transformers wrote it."""


PATH_STARTS = (".", "/", "~")
"""How a name begins that is a folder."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The recogniser of a run.

    Attributes:
        name: as the user knows it.
        kind: where it comes from.
        location: the folder that transformers reads; for an embedded model it is made by
            `prepare` if it does not exist yet.
        reason: one line, printed with the choice.
        model_type: of its config.json; says which backend it needs.
    """

    name: str
    kind: ModelKind
    location: Path
    reason: str
    model_type: str = WHISPER_TYPE

    @property
    def is_whisper(self) -> bool:
        """Whether it is a Whisper; else a SpeechLLM."""
        return self.model_type == WHISPER_TYPE

    @property
    def stored_name(self) -> str:
        """Its name in a file that is read later: of a folder the whole path, as './x' is another
        folder elsewhere.
        """
        return str(self.location) if self.name.startswith(PATH_STARTS) else self.name


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
        return _automatic(device)
    if requested.startswith(PATH_STARTS):
        return _folder(requested)
    entry = find_entry(requested)
    if entry is not None:
        return _known(entry)
    if Path(requested).is_dir():
        return _folder(requested)
    if requested.count("/") == 1:
        return _from_hub(requested)
    raise ModelError(_unknown(requested))


def prepare(choice: ModelChoice, progress: ProgressHook | None = None) -> ModelFolder:
    """The chosen model as a checked folder; an embedded one is converted on first use.

    Raises:
        ModelError: the weights are missing or damaged.
    """
    if choice.kind is ModelKind.EMBEDDED:
        return embedded_whisper(choice.name, progress)
    return local_model(choice.name, choice.location)


def _automatic(device: str) -> ModelChoice:
    """The flagship on a CUDA device if it is in the hub's cache, else the embedded default."""
    if not device.startswith("cuda"):
        return _embedded(DEFAULT_EMBEDDED, "the default without a CUDA device")
    if cached_snapshot(FLAGSHIP) is not None:
        return replace(_from_hub(FLAGSHIP), reason="the default on a CUDA device")
    reason = f"the default until {FLAGSHIP} is fetched: murmur models pull {FLAGSHIP}"
    return _embedded(DEFAULT_EMBEDDED, reason)


def _embedded(name: str, reason: str) -> ModelChoice:
    source = usable_source(name)
    if source is None:
        raise ModelError(f"{name}: its packages are not installed; run: {EMBEDDED_INSTALL}")
    return ModelChoice(name, ModelKind.EMBEDDED, converted_folder(name, source), reason)


def _known(entry: CatalogEntry) -> ModelChoice:
    if entry.purpose is not Purpose.RECOGNISER:
        raise ModelError(f"{entry.name} is for {entry.purpose}; --model takes a recogniser")
    if entry.name in WHISPER_SOURCES:
        return _embedded(entry.name, "asked for by name")
    assert entry.hub_id is not None, entry
    return _from_hub(entry.hub_id)


def _folder(requested: str) -> ModelChoice:
    folder = Path(requested).expanduser().absolute()
    if not folder.is_dir():
        raise ModelError(f"--model {requested}: there is no such folder")
    model_type = check_model_folder(requested, folder)
    return ModelChoice(requested, ModelKind.FOLDER, folder, "a local folder", model_type)


def _from_hub(repository: str) -> ModelChoice:
    folder = cached_snapshot(repository)
    if folder is None:
        raise ModelError(
            f"{repository} is not in the hub's cache {hub_cache()}; fetch it once: "
            f"murmur models pull {repository} (HF_HOME names another cache)"
        )
    model_type = check_model_folder(repository, folder)
    reason = "asked for by name, in the hub's cache"
    return ModelChoice(repository, ModelKind.FOLDER, folder, reason, model_type)


def _unknown(requested: str) -> str:
    names = [entry.name for entry in CATALOG if entry.purpose is Purpose.RECOGNISER]
    near = near_name(requested, names)
    hint = f"did you mean {near}? " if near is not None else ""
    return (
        f"--model {requested}: unknown; {hint}known: auto, {', '.join(names)}, "
        "any hub id OWNER/NAME of such a model, or a folder"
    )
