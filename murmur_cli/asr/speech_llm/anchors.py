"""Stretches of a chunk that another recogniser is sure of: the anchors of VoxZip's first stage.

The paper takes an ASR model's segments with a confidence above 0.3 and does not say whose
confidence. Here a word's confidence is the mean probability of its tokens, and an anchor is a run
of words of one segment that are all above it: a doubtful word ends it and stays audio.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from murmur_cli.asr.base import AsrBackend, Job, Recognition
from murmur_cli.progress import SilentProgress
from murmur_cli.timebase import to_samples
from murmur_cli.types import Chunk, PackingRule, SampleSpan, Segment, Window, Word, join_words


@dataclass(frozen=True, slots=True)
class Anchor:
    """A text and its samples in the recording."""

    span: SampleSpan
    text: str


class AnchorRecogniser:
    """Finds anchors with a recogniser that gives words with times and probabilities.

    Args:
        backend: the recogniser; it has sessions of its own.
        confidence: a word counts above it.
    """

    def __init__(self, backend: AsrBackend, confidence: float) -> None:
        self._backend = backend
        self._confidence = confidence

    @property
    def name(self) -> str:
        """The recogniser's."""
        return self._backend.identity.name

    def anchors(self, job: Job) -> dict[int, tuple[Anchor, ...]]:
        """Anchors of each chunk, by its index, in order of time.

        Raises:
            ModelError: there is not enough memory for the recogniser.
        """
        packing = self._backend.packing
        chunks = [replace(chunk, windows=_windows(chunk, packing)) for chunk in job.chunks]
        session = self._backend.open_session(SilentProgress())
        try:
            session.submit(Job(job.recording, job.samples, chunks), more_follow=False)
            done = []
            while session.busy:
                done += session.step()
        finally:
            session.close()
        (recognised,) = done
        if not isinstance(recognised.result, Recognition):
            raise recognised.result
        return {
            chunk.chunk_index: tuple(
                sorted(
                    (
                        anchor
                        for segment in chunk.segments
                        for anchor in sure_runs(segment, self._confidence)
                    ),
                    key=lambda anchor: anchor.span,
                )
            )
            for chunk in recognised.result.chunks
        }


def sure_runs(segment: Segment, confidence: float) -> Iterator[Anchor]:
    """Runs of words of a segment whose probabilities are all above `confidence`."""
    run: list[Word] = []
    for word in (*segment.words, None):
        if word is not None and (word.probability or 0.0) > confidence:
            run.append(word)
            continue
        if run:
            start, end = to_samples(run[0].span.start_s), to_samples(run[-1].span.end_s)
            if start < end:
                yield Anchor(SampleSpan(start, end), join_words(run))
        run = []


def within_pieces(
    anchors: Sequence[Anchor], pieces: Sequence[SampleSpan]
) -> Iterator[tuple[int, int, str]]:
    """Anchors that lie in the joined pieces: their samples there, and the text.

    One that a piece's edge cuts is left out: nobody knows which of its words are heard.
    """
    before = 0
    for piece in pieces:
        for anchor in anchors:
            if piece.start <= anchor.span.start and anchor.span.end <= piece.end:
                shift = before - piece.start
                yield anchor.span.start + shift, anchor.span.end + shift, anchor.text
        before += piece.length


def _windows(chunk: Chunk, packing: PackingRule | None) -> tuple[Window, ...]:
    """The chunk's speech in windows that the recogniser takes."""
    if packing is None:
        return chunk.windows
    most = to_samples(packing.max_window_s)
    pieces = [
        SampleSpan(start, min(start + most, span.end))
        for span in chunk.speech
        for start in range(span.start, span.end, most)
    ]
    windows: list[list[SampleSpan]] = []
    for piece in pieces:
        if windows and piece.end - windows[-1][0].start <= most:
            windows[-1].append(piece)
        else:
            windows.append([piece])
    return tuple(
        Window(span, tuple(speech), (span,))
        for speech in windows
        for span in [SampleSpan(speech[0].start, speech[-1].end)]
    )
