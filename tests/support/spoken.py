"""Material of scoring, written short."""

from __future__ import annotations

from collections.abc import Sequence

from murmur_cli.scoring.material import SessionMaterial, Utterance
from murmur_cli.scoring.streams import SpokenWords, Stream
from murmur_cli.types import SpeakerTurn, TimeSpan

Row = tuple[str | None, float, float, str]
"""Speaker, start, end, text."""


def stream(*rows: tuple[str, float, float, str]) -> Stream:
    """Words as the metrics take them."""
    return tuple(
        SpokenWords(TimeSpan(start_s, end_s), speaker, tuple(text.split()))
        for speaker, start_s, end_s, text in sorted(rows, key=lambda row: row[1])
    )


def turns(*rows: tuple[str, float, float]) -> tuple[SpeakerTurn, ...]:
    """Turns of speakers."""
    return tuple(SpeakerTurn(TimeSpan(start_s, end_s), who) for who, start_s, end_s in rows)


def material(
    session_id: str,
    rows: Sequence[Row] | None = None,
    spoken: Sequence[SpeakerTurn] | None = None,
    *,
    file_stem: str | None = None,
    ignored: tuple[TimeSpan, ...] = (),
    segmented: bool = True,
) -> SessionMaterial:
    """One session as read from an STM and an RTTM."""
    utterances = None
    if rows is not None:
        utterances = tuple(
            Utterance(TimeSpan(start_s, end_s), speaker, text)
            for speaker, start_s, end_s, text in rows
        )
    return SessionMaterial(
        session_id,
        file_stem,
        utterances,
        tuple(spoken) if spoken is not None else None,
        "stm" if rows is not None else None,
        "rttm" if spoken is not None else None,
        ignored,
        segmented,
    )
