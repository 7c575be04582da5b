"""A recipe of a corpus from start to end: get, prepare, transcribe, score, table.

    python -m data.benchmark ami-ihm            (with recipes/ on the path; `make ami` does it)

Results lie in `out/RECIPE`: transcripts, `score.json`, `run.json` and `table.md`. A session that is
done is not transcribed again unless the recipe's options or the folder have changed; one that
failed, or has no audio, counts as left out and is named.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data.corpus import Corpus, place_of, read_corpus
from data.dry_run import dry_lines
from data.prepare import AUDIO, READY, REFERENCES, Prepared, get, prepare
from murmur_cli.errors import ExitCode, MurmurError, UsageError
from murmur_cli.recipe_file import find_recipe
from murmur_cli.writers.output import check_directory

ROOT = Path(__file__).parents[2]
MURMUR = (sys.executable, "-m", "murmur_cli")
STEPS = ("get", "transcribe", "score")
NAMES = {"wer": "WER", "cpwer": "cpWER", "tcpwer": "tcpWER", "der": "DER"}
NOT_THERE = "-"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One call: the recipe by its file, its corpus and options, others' figures, where the data
    lies and the results go."""

    recipe: Path
    name: str
    corpus: Corpus
    options: Mapping[str, Any]
    published: Sequence[Mapping[str, Any]]
    data: Path
    out: Path


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the steps; ends with the program's exit codes."""
    asked = _parser().parse_args(arguments)
    code = ExitCode.OK
    try:
        bench = _benchmark(asked)
        if asked.dry:
            dry_run(bench)
        else:
            code = run(bench, asked.steps)
    except MurmurError as error:
        print(f"{asked.recipe}: {' '.join(str(error).split())}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code)


def run(bench: Benchmark, steps: Sequence[str]) -> ExitCode:
    """The steps in order; 1 if a session failed or is missing.

    Raises:
        MurmurError: the data cannot be had or is not laid out as it should be.
    """
    check_directory(bench.out)
    if "get" in steps:
        get(bench.corpus, bench.data)
    prepared = prepare(bench.corpus, bench.data)
    if "transcribe" in steps:
        transcribe(bench, prepared)
    failed = failures(bench, prepared)
    if "score" in steps:
        if len(failed) == len(prepared.sessions):
            raise UsageError("no session is transcribed: nothing to score")
        document = score(bench, prepared)
        text = table(bench, prepared, document, failed)
        (bench.out / "table.md").write_text(text, encoding="utf-8")
        print(text, end="")
    return ExitCode.SOME_FAILED if failed else ExitCode.OK


def transcribe(bench: Benchmark, prepared: Prepared) -> None:
    """Transcribe what is not done; `run.json` adds up the time.

    Raises:
        UsageError: the call itself is wrong, which concerns every session.
    """
    folder = transcripts(bench)
    record = _read(bench.out / "run.json")
    made_with = {"data": str(bench.data.absolute()), "transcribe": dict(bench.options)}
    if record is None or record.get("made_with") != made_with:
        # What lies there is of another setting or of other recordings.
        shutil.rmtree(folder, ignore_errors=True)
        record = {"made_with": made_with, "wall_s": 0.0, "sessions": []}
    folder.mkdir(parents=True, exist_ok=True)
    waiting = [path for path in prepared.audio if not (folder / f"{path.stem}.json").is_file()]
    if not waiting:
        return
    begun = time.perf_counter()
    call = [*MURMUR, *transcribe_call(bench, waiting)]
    code = subprocess.run(call, check=False).returncode
    if code not in (ExitCode.OK, ExitCode.SOME_FAILED, ExitCode.NOTHING_PROCESSED):
        raise _Stopped(code)
    record["wall_s"] += time.perf_counter() - begun
    record["sessions"] += [
        path.stem for path in waiting if (folder / f"{path.stem}.json").is_file()
    ]
    (bench.out / "run.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def failures(bench: Benchmark, prepared: Prepared) -> tuple[str, ...]:
    """Sessions of the list without a transcript."""
    folder = transcripts(bench)
    return tuple(name for name in prepared.sessions if not (folder / f"{name}.json").is_file())


def score(bench: Benchmark, prepared: Prepared) -> dict[str, Any]:
    """`murmur score` with the recipe's settings; failed sessions count as left out.

    Raises:
        UsageError: it cannot be scored.
    """
    call = [*MURMUR, *score_call(bench, prepared.references)]
    done = subprocess.run(call, check=False, capture_output=True, encoding="utf-8")
    if done.returncode not in (ExitCode.OK, ExitCode.SOME_FAILED):
        raise UsageError(f"not scored: {' '.join(done.stderr.split())}")
    (bench.out / "score.json").write_text(done.stdout, encoding="utf-8")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def table(
    bench: Benchmark, prepared: Prepared, document: Mapping[str, Any], failed: Sequence[str]
) -> str:
    """The pooled figures beside the published ones, as Markdown."""
    metrics = bench.corpus.metrics
    pooled = document["pooled"]["metrics"]
    record = _read(bench.out / "run.json") or {}
    own = [_shown(pooled.get(name, {}).get("percent")) for name in metrics]
    rows = [
        ["system", *(NAMES[name] for name in metrics), "seconds", "sessions", "failed"],
        [
            "Murmur, this run",
            *own,
            _shown(record.get("wall_s"), 1),
            str(len(prepared.sessions)),
            str(len(failed)),
        ],
    ]
    for line in bench.published:
        figures = [_shown(line.get(name)) for name in metrics]
        seconds = str(line.get("seconds", NOT_THERE))
        rows.append([str(line["system"]), *figures, seconds, "", ""])
    lines = [f"# {bench.corpus.corpus}", ""]
    lines += ["| " + " | ".join(row) + " |" for row in rows[:1]]
    lines += ["| --- |" + " ---: |" * (len(rows[0]) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in rows[1:]]
    lines += ["", f"Spelling: {document['normalizer']['name']}; collar {document['collar_s']:g} s."]
    lines += [f"Seconds of ours: all sessions, models loading included. {_audio(bench)}".rstrip()]
    if bench.corpus.expected and len(prepared.sessions) != bench.corpus.expected:
        lines.append(f"{len(prepared.sessions)} sessions, the list has {bench.corpus.expected}.")
    if failed:
        lines.append(f"Failed, counted as left out: {', '.join(failed)}.")
    notes = [f"{line['system']}: {line['note']}" for line in bench.published if "note" in line]
    return "\n".join([*lines, *notes]) + "\n"


def transcribe_call(bench: Benchmark, recordings: Sequence[Path]) -> list[str]:
    """Arguments of the program for these recordings."""
    options = ["--recipe", str(bench.recipe), "-o", str(transcripts(bench))]
    return ["transcribe", *map(str, recordings), *options]


def score_call(bench: Benchmark, references: Path) -> list[str]:
    """Arguments of the program that score all transcripts."""
    options = ["--recipe", str(bench.recipe), "--format", "json"]
    return ["score", str(references), str(transcripts(bench)), *options]


def dry_run(bench: Benchmark) -> None:
    """Say what the steps would do; nothing is fetched, made or run."""
    ready = bench.corpus.kind == READY
    audio = bench.data if ready else bench.data / AUDIO
    references = bench.data if ready else bench.data / REFERENCES
    calls = (transcribe_call(bench, [audio]), score_call(bench, references))
    for line in dry_lines(bench.corpus, bench.data, [["murmur", *call] for call in calls]):
        print(line)


def transcripts(bench: Benchmark) -> Path:
    """Where the transcripts lie."""
    return bench.out / "transcripts"


class _Stopped(MurmurError):
    """The program said why in a line of its own."""

    def __init__(self, code: int) -> None:
        super().__init__(f"murmur transcribe ended with code {code}")
        self.exit_code = ExitCode(code) if code in list(ExitCode) else ExitCode.NOTHING_PROCESSED


def _audio(bench: Benchmark) -> str:
    """How much audio was transcribed, by the transcripts themselves."""
    seconds = 0.0
    for path in sorted(transcripts(bench).glob("*.json")):
        seconds += (_read(path) or {}).get("audio", {}).get("duration_s", 0.0)
    return f"{seconds:.0f} s of audio." if seconds else ""


def _shown(value: float | None, digits: int = 2) -> str:
    return NOT_THERE if value is None else f"{value:.{digits}f}"


def _read(path: Path) -> dict[str, Any] | None:
    """The document of a file; None if it is not there.

    Raises:
        UsageError: somebody has damaged it.
    """
    if not path.is_file():
        return None
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path}: not JSON ({error}); delete it and call again") from error
    return document


def _benchmark(asked: argparse.Namespace) -> Benchmark:
    recipe, corpus = read_corpus(asked.recipe)
    data = Path(asked.data) if asked.data else place_of(corpus, ROOT)
    path = find_recipe(asked.recipe)
    return Benchmark(
        path,
        recipe.name,
        corpus,
        recipe.options["transcribe"],
        recipe.published,
        data,
        asked.out / recipe.name,
    )


def _steps(text: str) -> tuple[str, ...]:
    named = tuple(part.strip() for part in text.split(",") if part.strip())
    for name in named:
        if name not in STEPS:
            raise argparse.ArgumentTypeError(f"{name}: known are {', '.join(STEPS)}")
    return named


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="data.benchmark", description=__doc__.splitlines()[0])
    parser.add_argument("recipe", help="name or file")
    parser.add_argument("--data", default="", help="folder of the corpus; default as in the recipe")
    parser.add_argument("--out", type=Path, default=ROOT / "out", help="folder of the results")
    parser.add_argument("--dry", action="store_true", help="say what would be done, do nothing")
    parser.add_argument("--steps", type=_steps, default=STEPS, help=",".join(STEPS))
    return parser


if __name__ == "__main__":
    main()
