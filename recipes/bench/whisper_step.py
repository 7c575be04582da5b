"""Time of one decode step of Whisper under policies, beside 'none', on the CPU.

    python recipes/bench/whisper_step.py RECORDING --evict c3r,quest --threads 1
    python recipes/bench/whisper_step.py RECORDING --evict c3r --evict-opt c3r.budget=0.25

Windows of 30 s from the recording fill the slots. Then every policy decodes one token of each row
in turn, greedily, so that a busy machine slows all of them; the encoder runs once. Printed are
medians: processor time of a step, all threads together, and the clock's; the part of it that is
attention over the speech, with the choosing; and what the index of a policy adds to the loading
of a window.
"""

from __future__ import annotations

import argparse
import copy
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from murmur_cli.asr.whisper.decoder import PreparedWindow, WhisperDecoder
from murmur_cli.asr.whisper.loading import load_whisper
from murmur_cli.asr.whisper.request_shape import WHISPER_RATES
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.asr.whisper.tokens import load_tokens
from murmur_cli.bench.engine_setting import EngineSetting, parse_settings
from murmur_cli.engine.model_adapter import StepRow
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.policies.retrieval import retrieval_of
from murmur_cli.engine.regions import Selection
from murmur_cli.models.embedded_whisper import embedded_whisper
from murmur_cli.types import Samples

WINDOW_SAMPLES = 30 * 16_000


@dataclass(frozen=True, slots=True)
class StepTime:
    """Of one policy.

    Attributes:
        setting: the policy and its options.
        processor_ms, wall_ms: medians of a step.
        speech_ms: of these processor_ms, what attention over the speech takes, median.
        build_s: processor seconds that loading takes longer for one window than with 'none'.
        read: speech entries and summaries of a row that the last step read.
    """

    setting: str
    processor_ms: float
    wall_ms: float
    speech_ms: float
    build_s: float
    read: float


class TimedDecoder(WhisperDecoder):
    """Measures its attention over the speech."""

    speech_s = 0.0

    def _attend_speech(self, *given: object) -> tuple[torch.Tensor, torch.Tensor | None]:
        started = time.process_time()
        found = super()._attend_speech(*given)  # type: ignore[arg-type]
        self.speech_s += time.process_time() - started
        return found


@dataclass
class Run:
    """One policy on its own arenas; the weights are shared."""

    setting: EngineSetting
    decoder: TimedDecoder
    is_retrieval: bool
    prompt: tuple[int, ...]
    load_s: float
    tokens: list[int]
    processor_s: list[float] = field(default_factory=list)
    wall_s: list[float] = field(default_factory=list)
    speech_s: list[float] = field(default_factory=list)
    read: float = 0.0

    def step(self, number: int) -> None:
        """One token of every row."""
        entries = self.decoder.speech_entries
        speech = None if self.is_retrieval else ((0, entries),)
        selection = Selection(speech, ((0, number),))
        rows = [
            StepRow(slot, token, len(self.prompt), number, selection, entries)
            for slot, token in enumerate(self.tokens)
        ]
        self.decoder.speech_s = 0.0
        started, used = time.perf_counter(), time.process_time()
        output = self.decoder.step(rows)
        self.processor_s.append(time.process_time() - used)
        self.wall_s.append(time.perf_counter() - started)
        self.speech_s.append(self.decoder.speech_s)
        self.tokens = output.logits.argmax(dim=1).tolist()
        read = (output.speech_read or (None,))[0]
        self.read = float(entries) if read is None else read


def begin(
    decoder: WhisperDecoder,
    prompt: tuple[int, ...],
    setting: EngineSetting,
    encoded: torch.Tensor,
    steps: int,
) -> Run:
    """Load and prefill all rows."""
    policy = build_policy(setting.policy, setting.options, WHISPER_RATES)
    own = copy.copy(decoder)  # the same modules, but arenas of its own
    own.__class__ = TimedDecoder
    assert isinstance(own, TimedDecoder)
    slots = list(range(len(encoded)))
    retrieval = retrieval_of(policy)
    own.open(len(slots), len(prompt) + steps + 1, None, retrieval)
    used = time.process_time()
    own.load(slots, [PreparedWindow(encoded=window) for window in encoded])
    load_s = time.process_time() - used
    output = own.prefill(slots, [prompt] * len(slots), [()] * len(slots))
    tokens = output.logits.argmax(dim=1).tolist()
    covered = retrieval is None or retrieval.reads_all(own.speech_entries)
    return Run(setting, own, not covered, prompt, load_s, tokens)


@torch.inference_mode()
def measure(
    decoder: WhisperDecoder,
    prompt: tuple[int, ...],
    settings: Sequence[EngineSetting],
    encoded: torch.Tensor,
    steps: int,
) -> list[StepTime]:
    """All settings, the first of which is what the others are compared with.

    encoded: (rows, entries, width) encoder states.
    """
    runs = [begin(decoder, prompt, setting, encoded, steps) for setting in settings]
    for number in range(1, steps + 1):
        for run in runs:
            run.step(number)
    return [
        StepTime(
            setting=run.setting.name,
            processor_ms=1e3 * statistics.median(run.processor_s),
            wall_ms=1e3 * statistics.median(run.wall_s),
            speech_ms=1e3 * statistics.median(run.speech_s),
            build_s=(run.load_s - runs[0].load_s) / len(encoded),
            read=run.read,
        )
        for run in runs
    ]


def windows(recording: Path, count: int) -> list[Samples]:
    """The first windows of 30 s, as samples.

    Raises:
        SystemExit: the recording is shorter.
    """
    import soundfile

    samples, rate = soundfile.read(recording, dtype="float32", frames=count * WINDOW_SAMPLES)
    if rate != 16_000 or samples.ndim != 1 or len(samples) < count * WINDOW_SAMPLES:
        raise SystemExit(f"{recording}: want {count * 30} s of one channel at 16 kHz; convert it")
    return list(samples.reshape(count, WINDOW_SAMPLES))


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print; with -o, write JSON too."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("recording", type=Path, help="one channel at 16 kHz, flac or wav")
    parser.add_argument("--evict", default="c3r", help="policies, by commas")
    parser.add_argument("--evict-opt", action="append", default=[], help="POLICY.KEY=VALUE")
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path, help="JSON file")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(arguments.threads)
    settings = parse_settings(arguments.evict, arguments.evict_opt)
    folder = embedded_whisper("whisper-base")
    backend = load_whisper(
        folder.path,
        folder.identity,
        device="cpu",
        evict="none",
        evict_options={},
        options=WhisperOptions("en", "transcribe", arguments.batch_size),
    )
    encoded = backend.decoder.encode(windows(arguments.recording, arguments.batch_size))
    prompt = load_tokens(folder.path).prompt("en", "transcribe")
    times = measure(backend.decoder, prompt, settings, encoded, arguments.steps)
    print(f"{arguments.batch_size} rows, {arguments.threads} threads, {arguments.steps} steps")
    for found in times:
        print(
            f"{found.setting:<36} step {found.processor_ms:6.1f} ms CPU "
            f"({times[0].processor_ms / found.processor_ms:.2f}x), {found.wall_ms:6.1f} ms "
            f"({times[0].wall_ms / found.wall_ms:.2f}x)  speech {found.speech_ms:5.1f} ms  "
            f"reads {found.read:5.0f}  index {found.build_s:.2f} s a window"
        )
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        figures = {"threads": arguments.threads, "times": [asdict(found) for found in times]}
        arguments.output.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
