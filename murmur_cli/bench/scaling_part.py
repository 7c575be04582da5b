"""The whole job on 1, 2, 4, 8 … times the audio: time must grow in step, memory must not."""

from __future__ import annotations

from murmur_cli.bench.bench_audio import BenchAudio
from murmur_cli.bench.contender_process import MURMUR, ContenderProcess
from murmur_cli.bench.job_part import PEAK, SPEED, WARM_UP_S, Bench, flat
from murmur_cli.bench.recipe import Contender, ScalingPart
from murmur_cli.bench.record import BenchPart, BenchRow, Column, Figure
from murmur_cli.bench.worker_process import WorkerError

COLUMNS = (
    Column("audio_s", "audio s", digits=0),
    Column("wall_s_per_factor", "s per ×", digits=2),
    SPEED,
    PEAK,
)


def measure_scaling(bench: Bench, part: ScalingPart) -> BenchPart:
    """One run for each factor, in a process of its own so that its peak of memory is its own."""
    once = bench.audio[0].excerpt(part.start_s, part.seconds)
    rows = tuple(_row(bench, part, once, factor) for factor in part.factors)
    note = (
        f"{once.duration_s:.0f} s of audio after itself; words and speakers; one run each, models "
        "loaded and warm. The memory is that of the process, with its models."
    )
    return BenchPart("scaling", "Whole job by length", note, rows, COLUMNS, rows[0].name)


def _row(bench: Bench, part: ScalingPart, once: BenchAudio, factor: int) -> BenchRow:
    name = f"{factor} × the audio"
    folder = bench.folder / "scaling"
    folder.mkdir(parents=True, exist_ok=True)
    longer = once.times(factor)
    contender = Contender(name, MURMUR, part.options)
    try:
        process = ContenderProcess(
            contender, bench.recipe, bench.pythons, bench.folder / "worker.log", diarize=True
        )
        try:
            warm_up = once.excerpt(0.0, WARM_UP_S)
            process.run([warm_up.write(folder)], [warm_up])
            result = process.run([longer.write(folder)], [longer])
        finally:
            process.close()
    except WorkerError as error:
        return BenchRow(name, options=flat(part.options), not_run=str(error))
    bench.say(f"scaling: {name} {result.wall_s:.1f} s")
    figures: dict[str, Figure] = {
        "audio_s": longer.duration_s,
        "wall_s_per_factor": result.wall_s / factor,
        SPEED.key: longer.duration_s / result.wall_s,
        PEAK.key: result.peak_bytes,
    }
    return BenchRow(name, (result.wall_s,), figures, flat(part.options))
