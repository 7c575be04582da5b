"""`make bench`: a recipe from start to end, Murmur beside other programs.

Usage: python -m murmur_cli.bench.peers RECIPE.toml --audio FILE… [--peers PYTHON] [-o DIR]
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from murmur_cli.bench.bench_audio import read_bench_audio
from murmur_cli.bench.contender_process import Pythons
from murmur_cli.bench.curve_part import measure_curve
from murmur_cli.bench.engine_report import EngineRequest, engine_report
from murmur_cli.bench.engine_setting import parse_settings
from murmur_cli.bench.job_part import Bench, measure_jobs
from murmur_cli.bench.machine_record import machine_record, model_words
from murmur_cli.bench.recipe import PARTS, EnginePart, JobPart, Recipe, read_recipe
from murmur_cli.bench.record import BenchPart, BenchReport
from murmur_cli.bench.report_files import write_report
from murmur_cli.bench.report_table import markdown
from murmur_cli.bench.scaling_part import measure_scaling
from murmur_cli.errors import MurmurError, UsageError
from murmur_cli.near_name import did_you_mean

Measured = tuple[BenchPart, tuple[str, ...]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the recipe, print its tables, write its files."""
    asked = _parser().parse_args(arguments)
    try:
        report = run_recipe(
            read_recipe(asked.recipe), asked.audio, asked.peers, parse_parts(asked.only)
        )
        print(markdown(report))
        for path in write_report(report, asked.output):
            _say(f"wrote {path}")
    except MurmurError as error:
        print(f"bench: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def run_recipe(
    recipe: Recipe,
    audio: Sequence[Path],
    peers: Path | None,
    parts: Sequence[str],
    say: Callable[[str], None] | None = None,
) -> BenchReport:
    """Measure the parts of the recipe that are among `parts`, in the recipe's order.

    Raises:
        MurmurError: the audio or Murmur's own models cannot be used. What a peer lacks is said in
            its row.
    """
    if peers is not None and not peers.is_file():
        raise UsageError(f"--peers {peers}: no such file; give …/bin/python, or make bench-peers")
    report = say or _say
    measured: list[BenchPart] = []
    remarks: list[str] = []
    with tempfile.TemporaryDirectory(prefix="murmur-bench-") as folder:
        bench = Bench(
            recipe,
            Pythons(Path(sys.executable), peers.absolute() if peers is not None else None),
            read_bench_audio(audio),
            Path(folder),
            report,
        )
        for key in parts:
            wanted = getattr(recipe, key)
            if wanted is not None:
                part, said = MEASURES[key](bench, recipe)
                measured.append(part)
                remarks += said
    return BenchReport(
        recipe.name,
        {**dataclasses.asdict(recipe), "model": model_words(recipe.model), "parts": list(parts)},
        machine_record("cpu", recipe.threads),
        tuple(measured),
        tuple(dict.fromkeys(remarks)),
    )


def parse_parts(text: str) -> tuple[str, ...]:
    """Names of parts, in the order of a recipe.

    Raises:
        UsageError: an unknown part.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARTS:
            hint = did_you_mean(name, PARTS)
            raise UsageError(f"--only {name}: unknown part{hint}; known: {', '.join(PARTS)}")
    return tuple(name for name in PARTS if name in names)


def _engine(bench: Bench, recipe: Recipe) -> Measured:
    part = recipe.engine
    assert isinstance(part, EnginePart)
    folder = bench.folder / "engine"
    folder.mkdir()
    report = engine_report(
        EngineRequest(
            model=recipe.model,
            settings=parse_settings(",".join(part.evict), ()),
            # Speech: a policy that follows the reader has nothing to follow in noise.
            audio=tuple(str(one.write(folder)) for one in bench.audio),
            batch_size=part.batch_size,
            steps=part.steps,
            rounds=part.rounds,
            device="cpu",
            threads=recipe.threads,
        ),
        lambda done, total: bench.say(f"engine: round {done} of {total}") if done else None,
    )
    return report.parts[0], ()


def _recogniser(bench: Bench, recipe: Recipe) -> Measured:
    assert isinstance(recipe.recogniser, JobPart)
    return measure_jobs(
        bench,
        recipe.recogniser,
        key="recogniser",
        title="Recogniser: audio to words",
        diarize=False,
    )


def _whole(bench: Bench, recipe: Recipe) -> Measured:
    assert isinstance(recipe.whole, JobPart)
    return measure_jobs(
        bench, recipe.whole, key="whole", title="Whole job: words and speakers", diarize=True
    )


def _scaling(bench: Bench, recipe: Recipe) -> Measured:
    assert recipe.scaling is not None
    return measure_scaling(bench, recipe.scaling), ()


def _curve(bench: Bench, recipe: Recipe) -> Measured:
    assert recipe.curve is not None
    return measure_curve(bench, recipe.curve), ()


MEASURES: dict[str, Callable[[Bench, Recipe], Measured]] = {
    "engine": _engine,
    "recogniser": _recogniser,
    "whole": _whole,
    "scaling": _scaling,
    "curve": _curve,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m murmur_cli.bench.peers")
    parser.add_argument("recipe", type=Path, help="TOML file; see recipes/README.md")
    parser.add_argument(
        "--audio",
        type=Path,
        nargs="+",
        default=[],
        help="recordings; NAME.stm and NAME.rttm beside them are their references",
    )
    parser.add_argument("--peers", type=Path, help="python of the peers' environment")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("-o", "--output", type=Path, default=Path("bench"), help="folder")
    return parser


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
