"""From the voices of pieces to the turns and voices of a chunk."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.diarization.clean_speech import Piece
from murmur_cli.diarization.frame_grid import frames_in
from murmur_cli.diarization.local_turns import voice_activity, voices_of_slots
from murmur_cli.diarization.runs import joined_runs
from murmur_cli.diarization.segmentation import Segmentation
from murmur_cli.diarization.told_voices import voice_of
from murmur_cli.diarization.turn_voices import voices_of_spans
from murmur_cli.types import (
    Chunk,
    ChunkDiarization,
    Embedding,
    LocalSpeaker,
    LocalTurn,
    TimeSpan,
)
from murmur_cli.voice_clustering import Labels

MAX_PAUSE_S = 0.5
"""A speaker's pause up to this belongs to the turn."""


def turns_of_chunk(
    chunk: Chunk,
    segmentation: Segmentation,
    pieces: Sequence[Piece],
    embeddings: Sequence[Embedding | None],
    voice: Labels,
) -> ChunkDiarization:
    """What a chunk's segmentation says once it is known whose each piece is.

    Args:
        chunk: the stretch; turns count from the start of the recording.
        segmentation: of the chunk.
        pieces: as `find_pieces` gives them.
        embeddings: of each piece, None if unknown.
        voice: of each piece, as `voices_of_pieces` numbers them.
    """
    grid = segmentation.grid
    slot_voices = voices_of_slots(segmentation, pieces, voice)
    activity = voice_activity(segmentation, slot_voices)
    # The voice activity detector misses the ends of far, quiet speech, so turns may reach
    # past its spans; a turn that meets none of them is noise.
    has_speech = grid.frames_with(chunk.speech)
    turns = {
        number: [
            (start, end)
            for start, end in joined_runs(activity[:, number], frames_in(MAX_PAUSE_S))
            if has_speech[start:end].any()
        ]
        for number in range(activity.shape[1])
    }
    spoken = sorted((spans[0], number) for number, spans in turns.items() if spans)
    local_turns: list[LocalTurn] = []
    for local, (_, number) in enumerate(spoken):
        sounds = voices_of_spans(pieces, embeddings, voice == number, turns[number])
        local_turns += [
            LocalTurn(TimeSpan(grid.time_s(start), grid.time_s(end)), local, *sound)
            for (start, end), sound in zip(turns[number], sounds, strict=True)
        ]
    return ChunkDiarization(
        chunk.index,
        turns=tuple(sorted(local_turns)),
        speakers=tuple(
            LocalSpeaker(chunk.index, local, *voice_of(pieces, embeddings, voice == number))
            for local, (_, number) in enumerate(spoken)
        ),
    )
