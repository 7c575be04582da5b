"""Windows and chunks of a recording."""

from __future__ import annotations

from dataclasses import dataclass

from murmur_cli.types.spans import SampleSpan


@dataclass(frozen=True, slots=True)
class PackingRule:
    """How speech is packed into the short windows that a recogniser takes.

    Attributes:
        max_window_s: most audio in one window (its pieces together).
        max_span_s: most recording time from the first to the last piece.
        max_gap_s: a silence between two speech spans keeps at most this much of itself;
            the rest is left out of the window's audio.
    """

    max_window_s: float
    max_span_s: float
    max_gap_s: float


@dataclass(frozen=True, slots=True)
class Window:
    """What a recogniser decodes in one request.

    `speech` is the speech it answers for. `pieces` is the audio it hears, joined in order:
    the speech with the silences around it, shortened by `PackingRule.max_gap_s`. `span` runs
    from the first to the last sample of `pieces`.
    """

    span: SampleSpan
    speech: tuple[SampleSpan, ...]
    pieces: tuple[SampleSpan, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stretch of the recording, at most `--chunk` seconds, made of whole windows.

    `index` is unique in the recording. `channel` is that of `Stream`.
    """

    index: int
    span: SampleSpan
    windows: tuple[Window, ...]
    channel: int | None = None

    @property
    def speech(self) -> tuple[SampleSpan, ...]:
        """The speech of all windows, in order."""
        return tuple(span for window in self.windows for span in window.speech)


@dataclass(frozen=True, slots=True)
class ChunkPlan:
    """Chunks in order; `rule` says in one line how their size came about."""

    chunks: tuple[Chunk, ...]
    max_chunk_s: float
    rule: str
