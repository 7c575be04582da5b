"""A peer as a contender, in the peers' own environment: models stay loaded, one line of JSON a job.

open {"tool", "weights", "language", "threads", "options"} · run {"audio": [16 kHz wave files]}

Runs under the python of `make bench-peers`, with Murmur's source folder on its path. Of Murmur it
imports only what needs no package: the lines of JSON, the peak of memory, and Kaldi's filterbank.
"""

from __future__ import annotations

import time
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

from murmur_cli.bench.json_lines import clocked, serve
from murmur_cli.bench.peak_memory import peak_bytes, reset_peak

Words = list[tuple[float, float, str]]
Turns = list[tuple[float, float, str]]
Recognise = Callable[[str], Words]
Diarise = Callable[[str], tuple[Turns, float]]

BATCH = "batch_size"
"""faster-whisper: given, its batched pipeline runs; left out, the sequential one."""

COMPUTE_TYPE = "int8"


def fast_whisper(weights: str, language: str, threads: int, options: dict[str, Any]) -> Recognise:
    """faster-whisper with weights in CTranslate2's form."""
    from faster_whisper import BatchedInferencePipeline, WhisperModel

    model = WhisperModel(weights, device="cpu", compute_type=COMPUTE_TYPE, cpu_threads=threads)
    pipeline = BatchedInferencePipeline(model) if BATCH in options else model

    def recognise(audio: str) -> Words:
        # It takes keys out of the dictionary of VAD options, so each call gets its own.
        given = {key: dict(v) if isinstance(v, dict) else v for key, v in options.items()}
        segments, _ = pipeline.transcribe(audio, language=language, **given)
        return [word for segment in segments for word in words_of(segment)]

    return recognise


def words_of(segment: Any) -> Words:
    """Timed words of a segment; without word times, its text spread over its time."""
    if segment.words:
        return [(word.start, word.end, word.word.strip()) for word in segment.words]
    texts = segment.text.split()
    step_s = (segment.end - segment.start) / max(1, len(texts))
    return [
        (segment.start + step_s * index, segment.start + step_s * (index + 1), text)
        for index, text in enumerate(texts)
    ]


def open_whisper(weights: str, language: str, threads: int, options: dict[str, Any]) -> Recognise:
    """openai-whisper with its own names of the tensors."""
    import torch
    import whisper

    torch.set_num_threads(threads)
    model = whisper.load_model(weights, device="cpu")

    def recognise(audio: str) -> Words:
        found = model.transcribe(read_wave(audio), language=language, fp16=False, **options)
        words: Words = []
        for segment in found["segments"]:
            if "words" in segment:
                words += [(w["start"], w["end"], w["word"].strip()) for w in segment["words"]]
            else:
                words.append((segment["start"], segment["end"], segment["text"].strip()))
        return words

    return recognise


def read_wave(path: str) -> Any:
    """Samples of a 16-bit wave file, float32; openai-whisper would call a program for that."""
    import numpy as np

    with wave.open(path) as file:
        data = file.readframes(file.getnframes())
    return np.frombuffer(data, dtype="<i2").astype(np.float32) / 32768


class TorchFilterbank:
    """In place of senko's own filterbank, which needs AVX-512; its time is taken off."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self, segments: list[Any]) -> list[Any]:
        """Features of each segment, as kaldifeat gives them."""
        import numpy as np
        import torch

        from murmur_cli.diarization.fbank import log_mel

        began = time.perf_counter()
        features = [torch.as_tensor(np.asarray(log_mel(segment.numpy()))) for segment in segments]
        self.seconds += time.perf_counter() - began
        return features


def senko_diariser() -> tuple[Diarise, str]:
    """senko on the CPU, and what must be said of it."""
    import senko

    diariser = senko.Diarizer(device="cpu", warmup=False, quiet=True)
    filterbank = TorchFilterbank()
    remark = ""
    if not has_avx512(Path("/proc/cpuinfo")):
        diariser.use_gpu_fbank = True
        diariser.kaldifeat_fbank = filterbank
        remark = (
            "senko: its filterbank needs AVX-512, which this processor lacks; replaced by one of "
            "torch whose time is taken off"
        )

    def diarise(audio: str) -> tuple[Turns, float]:
        before_s = filterbank.seconds
        result = diariser.diarize(audio, generate_colors=False)
        merged = result["merged_segments"] if result else []
        turns = [(turn["start"], turn["end"], turn["speaker"]) for turn in merged]
        return turns, filterbank.seconds - before_s

    return diarise, remark


def has_avx512(cpuinfo: Path) -> bool:
    """Whether this processor has AVX-512."""
    return "avx512f" in cpuinfo.read_text(encoding="utf-8", errors="replace").split()


class PeerWorker:
    """Holds one peer with its models."""

    def __init__(self) -> None:
        self._recognise: Recognise | None = None
        self._diarise: Diarise | None = None

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """Load the models."""
        first, _, second = request["tool"].partition("+")
        loaders = {"faster-whisper": fast_whisper, "openai-whisper": open_whisper}
        self._recognise = loaders[first](
            request["weights"], request["language"], request["threads"], request["options"]
        )
        remark = ""
        if second:
            assert second == "senko", second
            self._diarise, remark = senko_diariser()
        return {"remark": remark, "versions": versions(first, second)}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Recognise each recording, then diarise it if senko is there."""
        assert self._recognise is not None, "open comes first"
        answer: dict[str, Any] = {"results": [], "excluded_s": 0.0}
        reset_peak()
        with clocked(answer):
            for audio in request["audio"]:
                result: dict[str, Any] = {"words": self._recognise(audio), "turns": []}
                if self._diarise is not None:
                    began = time.perf_counter()
                    result["turns"], excluded_s = self._diarise(audio)
                    result["speakers_s"] = time.perf_counter() - began - excluded_s
                    answer["excluded_s"] += excluded_s
                answer["results"].append(result)
        answer["peak_bytes"] = peak_bytes()
        return answer


def versions(*tools: str) -> dict[str, str]:
    """Versions of the tools and of what computes for them."""
    from importlib import metadata

    found = {}
    for name in (*tools, "ctranslate2", "torch"):
        if name:
            try:
                found[name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                continue
    return found


if __name__ == "__main__":
    worker = PeerWorker()
    serve({"open": worker.open, "run": worker.run})
