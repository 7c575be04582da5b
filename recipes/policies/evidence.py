"""Measures policies on a model: `python -m policies.evidence MODEL` (recipes/ on the path).

    transcripts   the product's session with all its guards (Whisper)
    answers       one greedy answer to each request, as the papers decode
    coverage      mass of the attention that a policy covers
    steps         CPU time of a step
    statistics    shape of the attention itself
    frontier      sizes of C³'s nodes while a window is decoded (Whisper)
    drift         a window that a weak policy gets more wrong than it is long (Whisper)

Each run is a line of results.jsonl; what is there is not run again. `python -m policies.report`
makes the table and the pictures.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import torch

from murmur_cli.bench.machine_record import commit
from murmur_cli.engine.request import Finished
from murmur_cli.sweeps.grid import PolicySetting
from murmur_cli.types import KvUsage
from policies.attention_statistics import statistics
from policies.coverage import Asked, asked_alike, coverage
from policies.drift import drift, worst
from policies.frontier import frontier
from policies.grid import FULL, VARIANTS, grid, policy_of
from policies.nano_subject import NanoSubject
from policies.run_lines import Line, RunLines
from policies.step_time import step_time
from policies.subject import Answers, Subject, greedy
from policies.transcripts import kv_figures, transcripts
from policies.whisper_subject import WhisperSubject

RESULTS = Path(__file__).parent / "results" / "results.jsonl"
STATES = Path("build/policies/states")
PARTS = ("answers", "coverage", "statistics", "frontier", "drift", "transcripts", "steps")
NOTHING = "none"
COVERED_STEPS = {"nano": 256}
"""Steps of the coverage; of others 64, which nearly every window of meetings has."""

TIMED_STEPS = 34
LABELS = tuple(variant.label for variant in VARIANTS)


class TimeIsUp(Exception):
    """The minutes that were given are over; the same call goes on."""


@dataclass
class Measured:
    """A subject, and what its runs share."""

    subject: Subject
    runs: RunLines
    ends_s: float
    new: int = 0

    @property
    def full(self) -> Line:
        """Figures of the answers under full attention, with their tokens."""
        return self.once(_about("answers", NOTHING, 0, FULL), lambda: full_answers(self), "full")

    @cached_property
    def watched(self) -> tuple[Finished, ...]:
        """Those answers again, with the attention of all heads."""
        policy = policy_of(FULL, self.subject.rates)
        return greedy(self.subject, policy, all_heads=True).done

    @cached_property
    def covered(self) -> Asked:
        """What the coverage is measured on."""
        steps = COVERED_STEPS.get(self.subject.name, 64)
        return asked_alike(self.subject, self.full["tokens"], steps, all_heads=True)

    @cached_property
    def timed(self) -> Asked:
        """What steps are timed on."""
        return asked_alike(self.subject, self.full["tokens"], TIMED_STEPS, all_heads=False)

    def once(self, about: dict[str, Any], run: Callable[[], Line], say: str) -> Line:
        """The figures of a run, which is run if it is not there.

        Raises:
            TimeIsUp: no time is left to begin it.
        """
        about = {"model": self.subject.name, **about}
        found = self.runs.found(about, self.subject.content_sha256)
        if found is not None:
            return found
        if time.monotonic() > self.ends_s:
            raise TimeIsUp
        found = {**run(), "commit": commit(Path(__file__).parent) or "unknown"}
        self.runs.add(about, self.subject.content_sha256, found)
        self.new += 1
        print(f"{say}: {_short(found)}", flush=True)
        return found


def measure(
    measured: Measured,
    parts: Sequence[str],
    budgets: Sequence[int],
    variants: Sequence[str] = LABELS,
) -> None:
    """Run what is missing, part by part, at each budget the variants in their order.

    variants: labels of those that are wanted.

    Raises:
        TimeIsUp: there is more to run.
    """
    subject = measured.subject
    rows = [(NOTHING, 0, FULL)] + [
        (variant.label, budget, setting)
        for wanted in budgets
        for variant, budget, setting in grid(
            [wanted], subject.rates, heads_are_shared=subject.heads_are_shared
        )
        if variant.label in variants
    ]
    for part in parts:
        if part == "statistics":
            whole = {"part": part}
            measured.once(whole, lambda: statistics(subject, measured.watched), part)
        if part == "frontier" and isinstance(subject, WhisperSubject):
            _measure_frontier(measured, subject)
        if part == "drift" and isinstance(subject, WhisperSubject):
            _measure_drift(measured, subject)
        for label, budget, setting in rows:
            run = _run_of(measured, part, setting)
            if run is not None:
                about = _about(part, label, budget, setting)
                measured.once(about, run, f"{subject.name}, {part}, {label}, budget {budget}")


def _about(part: str, label: str, budget: int, setting: PolicySetting) -> dict[str, Any]:
    return {
        "part": part,
        "label": label,
        "budget": budget,
        "policy": setting.name,
        "options": dict(setting.options),
    }


def _measure_frontier(measured: Measured, subject: WhisperSubject) -> None:
    """On the longest answer of those recordings that full attention does not fail on."""
    rates = measured.full["rates"]
    lengths = [
        (len(tokens), request.key.rsplit(" window ", 1)[0])
        for tokens, request in zip(measured.full["tokens"], subject.requests, strict=True)
    ]
    recording = max(one for one in lengths if rates[one[1]] <= 100)[1]
    about = {"part": "frontier", "recording": recording}
    measured.once(about, lambda: frontier(subject, measured.full, recording), "frontier")


def _measure_drift(measured: Measured, subject: WhisperSubject) -> None:
    """The worst of the answers that are there."""
    found = worst(measured.runs, subject.name)
    if found is None:
        return
    line, recording = found
    about = {**line["about"], "part": "drift", "recording": recording}
    measured.once(about, lambda: drift(subject, line["about"], recording), f"drift, {recording}")


def _run_of(measured: Measured, part: str, setting: PolicySetting) -> Callable[[], Line] | None:
    """How this part runs a setting; None where it does not."""
    subject, is_full = measured.subject, setting == FULL
    policy = policy_of(setting, subject.rates)
    if part == "answers":
        return lambda: _answers(measured, setting)
    if part == "transcripts" and isinstance(subject, WhisperSubject):
        return lambda: _transcripts(measured, subject, setting)
    if part == "coverage" and not is_full:
        return lambda: coverage(subject, policy, measured.covered)
    if part == "steps" and not is_full:
        full = policy_of(FULL, subject.rates)
        return lambda: step_time(subject, policy, full, measured.timed)
    return None


def full_answers(measured: Measured) -> Line:
    """Figures of full attention, with the tokens, which other runs are compared with."""
    found = greedy(measured.subject, policy_of(FULL, measured.subject.rates))
    tokens = [list(one.tokens) for one in found.done]
    return {**_judged(measured.subject, found, None), "tokens": tokens}


def _answers(measured: Measured, setting: PolicySetting) -> Line:
    if setting == FULL:
        return full_answers(measured)
    full = measured.full
    found = greedy(measured.subject, policy_of(setting, measured.subject.rates))
    return _judged(measured.subject, found, full)


def _judged(subject: Subject, answers: Answers, full: Line | None) -> Line:
    done = answers.done
    return {
        **subject.judge(done, full),
        **kv_figures(sum((one.kv for one in done), KvUsage())),
        "answers": len(done),
        "unended": sum(str(one.stop) != "end" for one in done),
        "cpu_s": round(answers.cpu_s, 2),
    }


def _transcripts(measured: Measured, subject: WhisperSubject, setting: PolicySetting) -> Line:
    def full_run() -> Line:
        return transcripts(subject, policy_of(FULL, subject.rates), None)

    if setting == FULL:
        return full_run()
    full = measured.once(_about("transcripts", NOTHING, 0, FULL), full_run, "transcripts, full")
    return transcripts(subject, policy_of(setting, subject.rates), full["texts"])


def _short(found: Line) -> str:
    """What a person wants to see while it runs."""
    parts = []
    if "errors" in found:
        parts.append(f"{100 * found['errors'] / found['length']:.1f} % wrong")
    if found.get("full_length"):
        parts.append(f"{100 * found['changed'] / found['full_length']:.1f} % changed")
    names = ("codes_found", "entries_read", "covered", "times_faster", "cpu_s")
    parts += [f"{name} {found[name]}" for name in names if name in found]
    return ", ".join(parts) or "done"


def _subject(name: str, data: Path, meetings: int) -> Subject:
    return NanoSubject(meetings) if name == "nano" else WhisperSubject(name, data, STATES)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="nano, or a packaged Whisper such as whisper-base")
    parser.add_argument("--data", type=Path, default=Path("../shared/data/ami"))
    parser.add_argument("--meetings", type=int, default=4, help="of nano")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--budgets", help="such as 256,128; default: all of the model")
    parser.add_argument(
        "--variant", action="append", choices=LABELS, help="may be repeated; default: all"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no run after so many")
    parser.add_argument("--results", type=Path, default=RESULTS)
    asked = parser.parse_args(arguments)
    torch.set_num_threads(1)
    ends_s = time.monotonic() + 60 * asked.minutes
    subject = _subject(asked.model, asked.data, asked.meetings)
    budgets = [int(text) for text in asked.budgets.split(",")] if asked.budgets else subject.budgets
    measured = Measured(subject, RunLines(asked.results), ends_s)
    try:
        measure(measured, asked.parts.split(","), budgets, asked.variant or LABELS)
    except TimeIsUp:
        print(f"{measured.new} new runs; more are left, call again")
        return
    print(f"{measured.new} new runs; all are there")


if __name__ == "__main__":
    main()
