"""What is needed to repeat a run: version, weights, options."""

from __future__ import annotations

import dataclasses
import platform
from importlib import metadata
from typing import Any

from murmur_cli import __version__
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import ModelIdentity, RunRecord

RECORDED_PACKAGES = ("torch", "transformers", "silero-vad", "soundfile", "soxr", "av", "numpy")

UNRECORDED_OPTIONS = (
    *("output_dir", "to_stdout", "recursive", "formats", "allow_partial"),
    *("chunk_curves", "kv_shares"),
)
"""Where results go does not change them, and a run elsewhere must give the same bytes. Which size
of chunks was chosen, and by which curve, stands in the plan; measured budgets in `kv_budget`."""

RECOGNITION_OPTIONS = (
    *("model", "evict", "evict_options", "kv_budget", "kv_offload", "batch_size"),
    *("language", "task", "context", "temperature", "precision", "word_times", "device", "devices"),
)
"""What says nothing of a run that recognises no words."""


def run_record(
    settings: TranscribeSettings, models: tuple[ModelIdentity, ...], device: str
) -> RunRecord:
    """The record of a run with these settings; holds no time of day and no machine's name."""
    options: dict[str, Any] = {
        key: value
        for key, value in dataclasses.asdict(settings).items()
        if key not in UNRECORDED_OPTIONS and (settings.recognise or key not in RECOGNITION_OPTIONS)
    }
    versions = {"python": platform.python_version()}
    for package in RECORDED_PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return RunRecord(__version__, models, options, versions, device)
