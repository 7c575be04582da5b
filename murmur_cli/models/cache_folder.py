"""Where Murmur keeps what it can make again: converted weights and records of checks."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def cache_folder() -> Path:
    """The user's cache folder; it need not exist yet.

    `MURMUR_CACHE` if set, else `XDG_CACHE_HOME/murmur`, else `~/.cache/murmur`. A relative
    `XDG_CACHE_HOME` is ignored, as the XDG base directory specification asks.
    """
    own = os.environ.get("MURMUR_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    if shared and Path(shared).is_absolute():
        return Path(shared) / "murmur"
    return Path.home() / ".cache" / "murmur"


def is_writable(folder: Path) -> bool:
    """True if a file can be made in `folder`, which is created if need be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
