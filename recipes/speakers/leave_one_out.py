"""Errors of speakers with settings that were chosen on all other recordings.

Usage: python -m speakers.leave_one_out RECORDING… [--chunk SECONDS], with recipes/ on the path.

NAME.rttm beside a recording says who speaks when. Networks hear each recording once; then every
setting of a list is tried on all. For each recording the setting is taken that has the least
error on the others, as the mean over the folders that they lie in.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

from murmur_cli.asr.whisper.request_shape import WHISPER_PACKING
from murmur_cli.bench.bench_audio import BenchAudio, Spoken, read_bench_audio
from murmur_cli.bench.scoring import Errors, SpeakerTimeErrors, time_errors
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.diarization.chunk_turns import turns_of_chunk
from murmur_cli.diarization.clean_speech import Piece, find_pieces
from murmur_cli.diarization.embedded import STEP_S
from murmur_cli.diarization.embedding import Embedder
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.diarization.frame_grid import plan_windows
from murmur_cli.diarization.piece_embeddings import embed_pieces
from murmur_cli.diarization.piece_voices import VoiceRule, voices_of_pieces
from murmur_cli.diarization.segmentation import Segmentation, Segmenter
from murmur_cli.models.weights import packaged_file
from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import Chunk, Embedding, SpeakerHints
from murmur_cli.vad.silero import SileroVad

LISTS: Mapping[str, tuple[VoiceRule, ...]] = {
    "nothing: the defaults": (VoiceRule(),),
    "threshold": tuple(VoiceRule(threshold=value) for value in (0.5, 0.55, 0.6)),
    "threshold, context": tuple(
        VoiceRule(threshold=threshold, context=context)
        for threshold, context in product((0.5, 0.55, 0.6), (0.05, 0.1, 0.2))
    ),
    "alike, brief_alike, brief_s": (
        VoiceRule(),
        *(VoiceRule(alike=value) for value in (0.55, 0.65)),
        *(VoiceRule(brief_alike=value) for value in (0.45, 0.55)),
        VoiceRule(brief_s=3.0),
    ),
    "core_s": tuple(VoiceRule(core_s=value) for value in (1.2, 1.5, 2.0)),
}
"""What is chosen from, by the name of its row."""

Results = Mapping[VoiceRule, Mapping[str, SpeakerTimeErrors]]
"""For each setting the errors of each recording."""


@dataclass(frozen=True, slots=True)
class HeardChunk:
    """What the networks say of a chunk."""

    chunk: Chunk
    segmentation: Segmentation
    pieces: tuple[Piece, ...]
    embeddings: list[Embedding | None]


class Ears:
    """The networks of the embedded diarizer."""

    def __init__(self) -> None:
        self._detector = SileroVad()
        self._segmenter = Segmenter(packaged_file("segmentation-3.0").path)
        self._embedder = Embedder(packaged_file("campplus").path)

    def hear(self, audio: BenchAudio, chunk_s: float) -> list[HeardChunk]:
        """All that no setting changes."""
        samples = audio.samples
        plan = plan_chunks(
            self._detector.detect(samples), samples, max_chunk_s=chunk_s, packing=WHISPER_PACKING
        )
        heard = []
        for chunk in plan.chunks:
            grid = plan_windows(chunk.span, STEP_S)
            segmentation = self._segmenter.segment(samples, grid, chunk.speech)
            pieces = find_pieces(segmentation)
            features = log_mel(samples[chunk.span.start : chunk.span.end])
            embeddings = embed_pieces(pieces, partial(self._embedder.embed, features))
            heard.append(HeardChunk(chunk, segmentation, pieces, embeddings))
        return heard


def speakers_with(rule: VoiceRule, heard: Sequence[HeardChunk]) -> tuple[Spoken, ...]:
    """The turns of a recording under a setting."""
    hints = SpeakerHints()
    local = [
        turns_of_chunk(
            one.chunk,
            one.segmentation,
            one.pieces,
            one.embeddings,
            voices_of_pieces(one.pieces, one.embeddings, rule, hints),
        )
        for one in heard
    ]
    return tuple(
        Spoken(turn.span.start_s, turn.span.end_s, turn.speaker)
        for turn in stitch(local, hints).turns
    )


def chosen_without(
    results: Results, rules: Sequence[VoiceRule], kinds: Mapping[str, str], left_out: str
) -> VoiceRule:
    """The setting with the least mean error over the kinds, without one recording; the first of
    several."""
    rest = {name: kind for name, kind in kinds.items() if name != left_out}
    return min(rules, key=lambda rule: _mean_error(results[rule], rest))


def _mean_error(errors: Mapping[str, SpeakerTimeErrors], kinds: Mapping[str, str]) -> float:
    rates = _by_kind(errors, kinds)
    return sum(rates.values()) / max(1, len(rates))


def _by_kind(errors: Mapping[str, SpeakerTimeErrors], kinds: Mapping[str, str]) -> dict[str, float]:
    pooled: dict[str, Errors] = {}
    for name, kind in kinds.items():
        pooled[kind] = pooled.get(kind, Errors()) + errors[name].time
    return {kind: total.percent or 0.0 for kind, total in pooled.items()}


def table(results: Results, kinds: Mapping[str, str]) -> str:
    """DER of each kind and speakers off, where each list chose without the recording itself."""
    shown = list(dict.fromkeys(kinds.values()))
    lines = ["| chosen | " + " | ".join(f"{kind} DER" for kind in shown) + " | speakers off |"]
    lines.append("|---|" + "---:|" * (len(shown) + 1))
    for title, rules in LISTS.items():
        errors = {
            name: results[chosen_without(results, rules, kinds, name)][name] for name in kinds
        }
        rates = _by_kind(errors, kinds)
        off = sum(abs(one.count) for one in errors.values())
        lines.append(
            f"| {title} | " + " | ".join(f"{rates[kind]:.1f}" for kind in shown) + f" | {off} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Hear, try, print."""
    parser = argparse.ArgumentParser(prog="python -m speakers.leave_one_out")
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--chunk", type=float, default=300.0, help="longest chunk in seconds")
    asked = parser.parse_args()
    ears = Ears()
    rules = list(dict.fromkeys(rule for several in LISTS.values() for rule in several))
    results: dict[VoiceRule, dict[str, SpeakerTimeErrors]] = {rule: {} for rule in rules}
    kinds: dict[str, str] = {}
    for path, audio in zip(asked.recordings, read_bench_audio(asked.recordings), strict=True):
        if audio.turns is None:
            parser.error(f"{path}: no {path.stem}.rttm beside it")
        kinds[audio.name] = path.resolve().parent.name
        heard = ears.hear(audio, asked.chunk)
        for rule in rules:
            found = speakers_with(rule, heard)
            results[rule][audio.name] = time_errors(audio.turns, found, audio.duration_s)
    print(table(results, kinds))


if __name__ == "__main__":
    main()
