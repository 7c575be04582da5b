"""A contender with its models loaded: Murmur's worker or another's, asked in the same way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from murmur_cli.bench.bench_audio import BenchAudio, Spoken
from murmur_cli.bench.peer_weights import ctranslate2_folder, openai_checkpoint
from murmur_cli.bench.recipe import Contender, Recipe
from murmur_cli.bench.worker_process import PACKAGE_ROOT, WorkerError, WorkerProcess
from murmur_cli.errors import ModelError

MURMUR = "murmur"
FLOOR = "murmur-reference-voices"
PYANNOTE = "pyannote-3.1"

OWN_WORKERS = {
    MURMUR: "murmur_cli.bench.murmur_worker",
    FLOOR: "murmur_cli.bench.floor_worker",
    PYANNOTE: "murmur_cli.bench.pyannote_worker",
}
"""Modules that run in Murmur's environment."""

UNKNOWN = "unknown"
"""Speaker of a word that has none."""

PEER_WORKER = PACKAGE_ROOT / "recipes" / "bench" / "peer_worker.py"

PEER_WEIGHTS: dict[str, Callable[[str], Path]] = {
    "faster-whisper": ctranslate2_folder,
    "faster-whisper+senko": ctranslate2_folder,
    "openai-whisper": openai_checkpoint,
}


@dataclass(frozen=True, slots=True)
class Pythons:
    """Interpreters: Murmur's own, and that of the peers if there is one."""

    murmur: Path
    peers: Path | None


@dataclass(frozen=True, slots=True)
class Heard:
    """What a contender made of one recording.

    Attributes:
        words: with the time of each; None if the contender finds speakers only.
        turns: of speakers; empty if none were asked for.
        kv: counts of `KvUsage`; empty for a peer.
    """

    words: tuple[Spoken, ...] | None
    turns: tuple[Spoken, ...]
    kv: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobResult:
    """What one job gave.

    Attributes:
        wall_s: of all recordings, without what the worker takes off.
        cpu_s: of the whole process.
        peak_bytes: most resident during the job.
        heard: one a recording, in their order.
        speakers_s: of that, what finding the turns of all recordings took; None if not told.
    """

    wall_s: float
    cpu_s: float
    peak_bytes: int
    heard: tuple[Heard, ...]
    speakers_s: float | None = None


class ContenderProcess:
    """One worker process with the models of one contender.

    Raises:
        WorkerError: the contender cannot run here; the message says why.
    """

    def __init__(
        self, contender: Contender, recipe: Recipe, pythons: Pythons, log: Path, *, diarize: bool
    ) -> None:
        self.contender = contender
        if contender.tool in OWN_WORKERS:
            arguments = ["-m", OWN_WORKERS[contender.tool]]
            self._worker = WorkerProcess(pythons.murmur, arguments, recipe.threads, log)
            options = contender.options
            if contender.tool != PYANNOTE:
                options = murmur_options(options, recipe, diarize=diarize)
            request: dict[str, Any] = {"options": options}
        else:
            python, weights = _peer(contender, recipe, pythons)
            self._worker = WorkerProcess(python, [str(PEER_WORKER)], recipe.threads, log)
            request = {
                "tool": contender.tool,
                "weights": str(weights),
                "language": recipe.language,
                "threads": recipe.threads,
                "options": contender.options,
            }
        try:
            answer = self._worker.ask("open", **request)
        except WorkerError:
            self.close()
            raise
        self.remark: str = answer.get("remark", "")
        self.versions: dict[str, str] = answer.get("versions", {})

    def reopen(self, options: dict[str, Any]) -> None:
        """Murmur only: take other settings."""
        self._worker.ask("open", options=options)

    def run(self, files: Sequence[Path], audio: Sequence[BenchAudio]) -> JobResult:
        """Do one job: all recordings, in one call.

        Args:
            files: what is to be heard.
            audio: the same with its references, of which only the floor is told.

        Raises:
            WorkerError: it failed, or lacks a reference.
        """
        request: dict[str, Any] = {"audio": [str(path) for path in files]}
        if self.contender.tool == FLOOR:
            request["turns"] = [_told(one) for one in audio]
        answer = self._worker.ask("run", **request)
        return JobResult(
            wall_s=answer["wall_s"] - answer.get("excluded_s", 0.0),
            cpu_s=answer["cpu_s"],
            peak_bytes=answer["peak_bytes"],
            heard=tuple(_heard(result) for result in answer["results"]),
            speakers_s=_speakers_s(answer["results"]),
        )

    def close(self) -> None:
        """End the process."""
        self._worker.close()


def _told(audio: BenchAudio) -> list[tuple[float, float, str]]:
    if audio.turns is None:
        raise WorkerError(f"{audio.name}: no {audio.name}.rttm beside it")
    return [(turn.start_s, turn.end_s, turn.speaker) for turn in audio.turns]


def _heard(result: dict[str, Any]) -> Heard:
    words = None if result["words"] is None else tuple(map(_word, result["words"]))
    turns = tuple(Spoken(start_s, end_s, speaker) for start_s, end_s, speaker in result["turns"])
    return Heard(words, turns, result.get("kv", {}))


def _word(word: Sequence[Any]) -> Spoken:
    return Spoken(word[0], word[1], (word[3] if len(word) > 3 else None) or UNKNOWN, word[2])


def _speakers_s(results: Sequence[dict[str, Any]]) -> float | None:
    """Murmur says how long each stage took, another how long its diariser did."""
    stages = [result.get("stages_s", {}).get("diarization") for result in results]
    told = [result.get("speakers_s", stage) for result, stage in zip(results, stages, strict=True)]
    known = [float(seconds) for seconds in told if seconds is not None]
    return sum(known) if known else None


def murmur_options(options: dict[str, Any], recipe: Recipe, *, diarize: bool) -> dict[str, Any]:
    """Settings of Murmur: the recipe's model and language, then the contender's own."""
    common = {"model": recipe.model, "language": recipe.language, "device": "cpu"}
    return common | {"diarize": diarize} | options


def _peer(contender: Contender, recipe: Recipe, pythons: Pythons) -> tuple[Path, Path]:
    """Interpreter and weights of a peer."""
    if contender.tool not in PEER_WEIGHTS:
        known = ", ".join((*OWN_WORKERS, *PEER_WEIGHTS))
        raise WorkerError(f"unknown tool '{contender.tool}'; known: {known}")
    if pythons.peers is None:
        raise WorkerError("no peers here: make bench-peers, or make bench PEERS=…/bin/python")
    if not PEER_WORKER.is_file():
        raise WorkerError(f"recipes/bench/{PEER_WORKER.name} is not here: run from a checkout")
    try:
        return pythons.peers, PEER_WEIGHTS[contender.tool](recipe.model)
    except ModelError as error:
        raise WorkerError(str(error)) from error
