"""The offline local diarizer: segmentation-3.0 windows, CAM++ embeddings, constrained groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from murmur_cli.diarization.base import NO_HINTS, ToldTurn
from murmur_cli.diarization.chunk_turns import turns_of_chunk
from murmur_cli.diarization.clean_speech import Piece, find_pieces
from murmur_cli.diarization.embedding import Embedder
from murmur_cli.diarization.fbank import log_mel
from murmur_cli.diarization.frame_grid import plan_windows
from murmur_cli.diarization.long_chunk import diarize_in_parts
from murmur_cli.diarization.piece_embeddings import embed_pieces
from murmur_cli.diarization.piece_voices import VoiceRule, voices_of_pieces
from murmur_cli.diarization.segmentation import Segmenter
from murmur_cli.diarization.told_voices import voices_of_turns
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    Embedding,
    ModelIdentity,
    SampleSource,
    SpeakerHints,
)
from murmur_cli.voice_clustering import Labels

PieceVoices = Callable[
    [SampleSource, Chunk, Sequence[Piece], SpeakerHints], tuple[list[Embedding | None], Labels]
]
"""For each piece of a chunk its embedding and its voice, as `voices_of_pieces` numbers them."""

STEP_S = 5.0
"""Distance of the windows: each frame is seen twice."""

DEFAULT_RULE = VoiceRule()


class EmbeddedDiarizer:
    """A `LocalDiarizer` that needs two weight files and no network."""

    def __init__(
        self,
        segmentation: Path,
        embedding: Path,
        identities: tuple[ModelIdentity, ...] = (),
        rule: VoiceRule = DEFAULT_RULE,
        step_s: float = STEP_S,
        piece_voices: PieceVoices | None = None,
    ) -> None:
        """Load both networks.

        Args:
            segmentation: pyannote segmentation-3.0, 'pytorch_model.bin'.
            embedding: CAM++, 'campplus_cn_en_common.pt'.
            identities: what the two files are, in this order.
            rule: how slots of windows become voices.
            step_s: distance of the windows.
            piece_voices: tells the voices of pieces apart instead of CAM++ and `rule`; for
                experiments.

        Raises:
            ModelError: a file is missing, damaged or of another network.
        """
        self._segmenter = Segmenter(segmentation)
        self._embedder = Embedder(embedding)
        self._identities = identities
        self._rule = rule
        self._step_s = step_s
        self._piece_voices = piece_voices or self._voices_by_sound

    @property
    def identities(self) -> tuple[ModelIdentity, ...]:
        """The weights in use."""
        return self._identities

    @property
    def voice_model(self) -> ModelIdentity:
        """See `LocalDiarizer.voice_model`."""
        return self._identities[1]

    def diarize(
        self, samples: SampleSource, chunk: Chunk, *, hints: SpeakerHints = NO_HINTS
    ) -> ChunkDiarization:
        """See `LocalDiarizer.diarize`; a very long chunk goes in parts (`long_chunk`)."""
        return diarize_in_parts(
            chunk, hints, lambda part, limits: self._diarize(samples, part, limits)
        )

    def _diarize(
        self, samples: SampleSource, chunk: Chunk, hints: SpeakerHints
    ) -> ChunkDiarization:
        grid = plan_windows(chunk.span, self._step_s)
        segmentation = self._segmenter.segment(samples, grid, chunk.speech)
        pieces = find_pieces(segmentation)
        embeddings, voice = self._piece_voices(samples, chunk, pieces, hints)
        return turns_of_chunk(chunk, segmentation, pieces, embeddings, voice)

    def _voices_by_sound(
        self, samples: SampleSource, chunk: Chunk, pieces: Sequence[Piece], hints: SpeakerHints
    ) -> tuple[list[Embedding | None], Labels]:
        features = log_mel(samples[chunk.span.start : chunk.span.end])
        embeddings = embed_pieces(pieces, partial(self._embedder.embed, features))
        return embeddings, voices_of_pieces(pieces, embeddings, self._rule, hints)

    def voices(
        self, samples: SampleSource, chunk: Chunk, told: Sequence[ToldTurn]
    ) -> ChunkDiarization:
        """See `LocalDiarizer.voices`."""
        return voices_of_turns(self._embedder, samples, chunk, told)
