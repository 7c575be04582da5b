"""Embeddings of pieces, without asking the network where the answer is known.

Pieces of one slot that follow each other are mostly one person talking on. Of such a chain some
pieces are embedded; where the two around others have like voices, those between take the mean of
the two. Where they have not, the middle one is embedded too, and so on in both halves: a change
of voice inside a chain is found as before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from murmur_cli.diarization.clean_speech import Frames, Piece
from murmur_cli.diarization.embedding import unit_length
from murmur_cli.diarization.frame_grid import frames_in
from murmur_cli.types import Embedding

Embed = Callable[[Sequence[Frames]], list[Embedding | None]]

MAX_SPARED = 2
"""Pieces in a row that may go without the network: at most 6 s of talk."""

SAME_VOICE_COSINE = 0.6
"""Pieces at least this similar are one voice: above the .55 at which groups are joined, and
hardly ever reached by two people (.05-.27, standard deviation .09-.12)."""

MAX_PAUSE_S = 1.0
"""A longer pause ends a chain."""

_MAX_HOLES_S = 0.15
"""A piece with more gaps inside is pooled from several stretches and no link of a chain."""


def embed_pieces(pieces: Sequence[Piece], embed: Embed) -> list[Embedding | None]:
    """One embedding of unit length for each piece; None if it is too short or silent.

    Args:
        pieces: in order of their first frame, as `find_pieces` gives them.
        embed: asks the network for the embeddings of sets of frames.
    """
    found: dict[int, Embedding | None] = {}
    spans = [span for chain in _chains(pieces) for span in _spans(chain)]
    asked = sorted({end for span in spans for end in (span[0], span[-1])})
    while asked:
        vectors = embed([pieces[index].frames for index in asked])
        found.update(zip(asked, vectors, strict=True))
        spans = [half for span in spans for half in _halves_in_doubt(span, found)]
        # Each half begins or ends at the middle of its span.
        asked = sorted({end for span in spans for end in (span[0], span[-1])} - found.keys())
    return [found[index] for index in range(len(pieces))]


def _halves_in_doubt(span: list[int], found: dict[int, Embedding | None]) -> list[list[int]]:
    """Settle what lies between the ends of a span, if they agree; else its two halves."""
    first, last = found[span[0]], found[span[-1]]
    if len(span) <= 2:
        return []
    if first is not None and last is not None and first @ last >= SAME_VOICE_COSINE:
        between = unit_length(first + last)
        found.update(dict.fromkeys(span[1:-1], between))
        return []
    middle = len(span) // 2
    return [span[: middle + 1], span[middle:]]


def _spans(chain: list[int]) -> list[list[int]]:
    """Parts of a chain that share their ends, with at most `MAX_SPARED` pieces between them."""
    step = MAX_SPARED + 1
    ends = sorted({*range(0, len(chain), step), len(chain) - 1})
    return [chain[first : last + 1] for first, last in pairwise(ends)] or [chain]


def _chains(pieces: Sequence[Piece]) -> list[list[int]]:
    """Indices of pieces that continue each other; a piece that does not is a chain by itself."""
    chains: list[list[int]] = []
    for index, piece in enumerate(pieces):
        if chains and _continues(pieces[chains[-1][-1]], piece):
            chains[-1].append(index)
        else:
            chains.append([index])
    return chains


def _continues(before: Piece, piece: Piece) -> bool:
    """Whether a piece follows another in a common slot after a short pause, in one stretch."""
    pause = int(piece.frames[0] - before.frames[-1]) - 1
    length = int(piece.frames[-1] - piece.frames[0]) + 1
    return (
        0 <= pause <= frames_in(MAX_PAUSE_S)
        and length - piece.frames.size <= frames_in(_MAX_HOLES_S)
        and not set(piece.units).isdisjoint(before.units)
    )
