"""British to American spellings, as Whisper's normaliser wants them.

The table is the file `english.json` of Whisper, which the package whisper-normalizer carries;
the package itself is not imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from pathlib import Path

from murmur_cli.errors import ModelError

PACKAGE = "whisper_normalizer"
SHA256 = "6607f948be9824d2e1b2fa2223cd94c06c45afa4e05ea0e3d5e1f2bdffde2465"
_FILE = "normalizers/english.json"


def whisper_spellings() -> dict[str, str]:
    """British spelling -> American spelling.

    Raises:
        ModelError: the package is missing, or its table is not the one that Whisper publishes.
    """
    spec = importlib.util.find_spec(PACKAGE)
    folders = spec.submodule_search_locations if spec is not None else None
    path = next((Path(folder, _FILE) for folder in folders or ()), None)
    if path is None or not path.is_file():
        raise ModelError(
            "the table of spellings is missing: pip install whisper-normalizer==0.1.15, "
            "or take --norm basic"
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != SHA256:
        raise ModelError(
            f"{path} is not Whisper's table of spellings (SHA-256 differs); "
            "reinstall whisper-normalizer, or take --norm basic"
        )
    table: dict[str, str] = json.loads(content)
    return table
