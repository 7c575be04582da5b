"""How a path stands in a message of one line."""

from __future__ import annotations

from pathlib import Path


def path_text(path: Path) -> str:
    """The path as named, with line breaks and undecodable bytes escaped."""
    text = str(path).encode("utf-8", "backslashreplace").decode("utf-8")
    return text.replace("\n", "\\n").replace("\r", "\\r")
