"""The model hub's cache on disk, and the one place that may fetch into it when asked.

Runs read the cache only. `murmur models pull NAME` fetches. The cache is `HF_HOME/hub` (or
`HF_HUB_CACHE`); `HF_HUB_OFFLINE=1` forbids fetching; a token is read from `HF_TOKEN` or the
hub's own login by the hub library and never passes through here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from murmur_cli.errors import ModelError

WANTED_FILES = ("*.json", "*.jinja", "*.safetensors", "*.txt", "*.model")
"""What a model folder needs; pickled and other frameworks' weights are left out."""

PYANNOTE_PIPELINE = "pyannote/speaker-diarization-community-1"
"""A folder of several models in pyannote.audio's own form, with 'config.yaml' at its head."""

PIPELINE_FILES = ("config.yaml", "*/pytorch_model.bin", "*/*.npz")
"""What that folder needs; these pickled weights are its only form."""

Download = Callable[[str], str]
"""Fetches a repository, returns the folder; raises as `huggingface_hub.snapshot_download`."""


def hub_cache() -> Path:
    """Folder of the hub's cache."""
    from huggingface_hub import constants

    return Path(constants.HF_HUB_CACHE)


def cached_snapshot(repository: str) -> Path | None:
    """Folder of a repository in the cache, newest known revision of 'main'; None if absent.

    What is looked for is its 'config.json', or 'config.yaml' of a pipeline.

    Raises:
        ModelError: the name is not one of a repository.
    """
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        head = "config.yaml" if repository == PYANNOTE_PIPELINE else "config.json"
        config = try_to_load_from_cache(repository, head)
    except HFValidationError as error:
        raise ModelError(f"{repository!r} is not a name of the model hub: {error}") from error
    return Path(config).parent if isinstance(config, str) else None


def pull(repository: str, download: Download | None = None) -> Path:
    """Fetch a repository into the cache; what is there already is not fetched again.

    Raises:
        ModelError: offline by request, no network, no such repository, or no right to it.
    """
    from huggingface_hub import constants
    from huggingface_hub.errors import (
        GatedRepoError,
        HFValidationError,
        LocalEntryNotFoundError,
        OfflineModeIsEnabled,
        RepositoryNotFoundError,
    )

    # The base of the hub library's HTTP client; which client that is differs between its
    # versions, and it is not listed as exported.
    from huggingface_hub.errors import HTTPError  # type: ignore[attr-defined] # isort: skip

    try:
        return Path((download or _download)(repository))
    except HFValidationError as error:
        raise ModelError(f"{repository!r} is not a name of the model hub: {error}") from error
    except GatedRepoError as error:
        raise ModelError(
            f"{repository} is gated: accept its terms on {constants.ENDPOINT}/{repository}, then "
            "set HF_TOKEN to a token of that account"
        ) from error
    except RepositoryNotFoundError as error:
        raise ModelError(
            f"{repository} is not on the hub, or it is private and HF_TOKEN is not set to a token "
            "that may read it"
        ) from error
    except (LocalEntryNotFoundError, HTTPError, OSError) as error:
        if any(isinstance(cause, OfflineModeIsEnabled) for cause in (error, error.__cause__)):
            raise ModelError(
                f"{repository}: HF_HUB_OFFLINE is set, so nothing is fetched; unset it"
            ) from error
        raise ModelError(
            f"{repository}: the model hub cannot be reached ({type(error).__name__}); fetch it on "
            f"a machine with network and copy its folder from {hub_cache()}"
        ) from error


def _download(repository: str) -> str:
    from huggingface_hub import snapshot_download

    wanted = PIPELINE_FILES if repository == PYANNOTE_PIPELINE else WANTED_FILES
    return str(snapshot_download(repository, allow_patterns=list(wanted)))
