"""Eviction policies over a grid of options: word error rate against the time of a step."""

from __future__ import annotations

from murmur_cli.bench.contender_process import MURMUR, ContenderProcess, Heard, murmur_options
from murmur_cli.bench.engine_report import EngineRequest, engine_report
from murmur_cli.bench.engine_setting import BASELINE, EngineSetting
from murmur_cli.bench.job_errors import WER, error_figures
from murmur_cli.bench.job_part import KV, Bench, kv_bytes_per_token
from murmur_cli.bench.murmur_worker import option_text
from murmur_cli.bench.recipe import Contender, CurvePart, CurveSetting
from murmur_cli.bench.record import BenchPart, BenchRow, Column, Figure, Scale
from murmur_cli.bench.spread import times_faster
from murmur_cli.bench.worker_process import WorkerError

FASTER = Column("step_times_faster", "step × faster", digits=2)
COLUMNS = (
    WER,
    Column("wer_cost_points", "WER cost", digits=2),
    Column("share_read", "share read", digits=3),
    KV,
)


def measure_curve(bench: Bench, part: CurvePart) -> BenchPart:
    """One row a setting, 'none' first: its words from one run, its step from the engine alone."""
    settings = _settings(part)
    audio = [one.excerpt(part.start_s, part.seconds) for one in bench.audio]
    folder = bench.folder / "curve"
    folder.mkdir(parents=True, exist_ok=True)
    files = [one.write(folder) for one in audio]
    steps = {
        row.name: row
        for row in engine_report(
            EngineRequest(
                model=bench.recipe.model,
                settings=settings,
                audio=tuple(str(file) for file in files),
                batch_size=part.batch_size,
                steps=part.steps,
                rounds=part.rounds,
                device="cpu",
                threads=bench.recipe.threads,
            )
        )
        .parts[0]
        .rows
    }
    bench.say(f"curve: steps of {len(settings)} settings measured")
    rows: list[BenchRow] = []
    process = ContenderProcess(
        Contender(BASELINE, MURMUR),
        bench.recipe,
        bench.pythons,
        folder / "worker.log",
        diarize=False,
    )
    try:
        for setting in settings:
            options = {"evict": setting.policy, "evict_options": setting.options}
            step = steps[setting.name]
            try:
                process.reopen(murmur_options(options, bench.recipe, diarize=False))
                heard = process.run(files, audio).heard
            except WorkerError as error:
                rows.append(BenchRow(setting.name, options=step.options, not_run=str(error)))
                continue
            errors = error_figures(audio, heard, diarize=False)
            rows.append(_row(step, steps[BASELINE], heard, errors, rows))
            bench.say(f"curve: {setting.name} WER {WER.text(errors[WER.key])} %")
    finally:
        process.close()
    seconds = sum(one.duration_s for one in audio)
    note = (
        f"Words: {len(audio)} recording(s), {seconds:.0f} s, one run a setting. Step: "
        f"{part.batch_size} rows of the same audio, {part.steps} steps, {part.rounds} rounds in "
        "alternation. Share read: of the entries that full attention reads, in the runs on words."
    )
    return BenchPart(
        "curve",
        "Eviction: words against steps",
        note,
        tuple(rows),
        COLUMNS,
        BASELINE,
        Scale.MILLISECONDS,
        scatter=(FASTER, WER),
    )


def _settings(part: CurvePart) -> tuple[EngineSetting, ...]:
    given = [CurveSetting(BASELINE), *part.setting]
    made = [
        EngineSetting(one.evict, {key: option_text(value) for key, value in one.options.items()})
        for one in given
    ]
    return tuple({setting.name: setting for setting in made}.values())


def _row(
    step: BenchRow,
    base: BenchRow,
    heard: tuple[Heard, ...],
    errors: dict[str, Figure],
    before: list[BenchRow],
) -> BenchRow:
    wer = errors[WER.key]
    base_wer = before[0].figures.get(WER.key) if before else wer
    cost = wer - base_wer if isinstance(wer, float) and isinstance(base_wer, float) else None
    held = sum(found.kv["speech_entries_held"] + found.kv["output_entries_held"] for found in heard)
    read = sum(found.kv["speech_entries_read"] + found.kv["output_entries_read"] for found in heard)
    figures: dict[str, Figure] = {
        FASTER.key: times_faster(base.samples_s, step.samples_s),
        WER.key: wer,
        "wer_cost_points": cost,
        "share_read": read / held if held else None,
        KV.key: kv_bytes_per_token(heard),
    }
    return BenchRow(step.name, step.samples_s, figures, step.options)
