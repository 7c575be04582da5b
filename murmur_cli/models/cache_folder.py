"""Where Murmur keeps what it can make again: converted weights and records of checks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from murmur_cli.errors import ModelError


def cache_folder() -> Path:
    """The user's cache folder; it need not exist yet.

    `MURMUR_CACHE` if set, else `XDG_CACHE_HOME/murmur`, else `~/.cache/murmur`. A relative
    `XDG_CACHE_HOME` is ignored, as the XDG base directory specification asks.

    Raises:
        ModelError: none of them is set and this user has no home, as in some containers.
    """
    own = os.environ.get("MURMUR_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "murmur"
    try:
        return Path.home() / ".cache" / "murmur"
    except RuntimeError:
        raise ModelError(
            "no folder for the cache: this user has no home; set MURMUR_CACHE to a folder"
        ) from None


def is_writable(folder: Path) -> bool:
    """True if a file can be made in `folder`, which is created if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
