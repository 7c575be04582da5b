"""A report with fixed figures, for the writers."""

from __future__ import annotations

from murmur_cli.bench.record import BenchPart, BenchReport, BenchRow, Column, Detail, Figure, Scale

WER = Column("wer_percent", "WER %", digits=2)
FOUND, TRUE = Column("found", "found", digits=0), Column("true", "in truth", digits=0)


def fixed_report() -> BenchReport:
    """Bars with a row that was not run and one that was not timed, with details of recordings,
    and a scatter; ratios and quartiles are easy by hand."""
    jobs = BenchPart(
        key="recogniser",
        title="Recogniser <fixed>",
        note="Made up.",
        rows=(
            BenchRow(
                *("theirs", (4.0, 8.0, 6.0), {"wer_percent": 20.0}, {"beam_size": 5}),
                recordings=_recordings(3, 4),
            ),
            BenchRow("ours | both", (2.0, 2.0, 2.0), {"wer_percent": 19.123}),
            BenchRow("absent", not_run="no peers here"),
            BenchRow("half", figures={"wer_percent": None}, recordings=_recordings(2, 1)),
        ),
        columns=(WER,),
        baseline="theirs",
        details=(Detail(WER), Detail(FOUND, TRUE)),
    )
    curve = BenchPart(
        key="curve",
        title="Curve",
        note="Made up too.",
        rows=(
            BenchRow("none", (0.02,), {"faster": 1.0, "wer_percent": 20.0}),
            BenchRow("speech", (0.01,), {"faster": 2.0, "wer_percent": 21.0}, {"window": 300}),
            BenchRow("broken", not_run="it failed"),
        ),
        columns=(WER,),
        baseline="none",
        scale=Scale.MILLISECONDS,
        scatter=(Column("faster", "step × faster", digits=2), WER),
    )
    machine = {"device": "2 cores", "threads": 2, "versions": {"torch": "2.9"}}
    return BenchReport("fixed", {"threads": 2}, machine, (jobs, curve), ("a remark",))


def _recordings(first: int, second: int) -> dict[str, dict[str, Figure]]:
    """Two recordings, of 2 and 4 speakers; the second has no words."""
    return {
        "one": {"wer_percent": 10.0 * first, "found": first, "true": 2},
        "two | b": {"wer_percent": None, "found": second, "true": 4},
    }
