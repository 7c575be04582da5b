"""Transcripts of runs against references, and against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from murmur_cli.errors import UsageError
from murmur_cli.scoring.counts import Counts, WordCounts
from murmur_cli.scoring.edit_distance import edits
from murmur_cli.scoring.normalizers.base import Normalizer
from murmur_cli.scoring.pairing import Pairing, pair_sessions
from murmur_cli.scoring.scoreboard import score_all
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.scoring.sources import Side, read_side
from murmur_cli.scoring.streams import Stream, normalised_stream
from murmur_cli.types import TimeSpan

SPEAKERLESS = ("wer", "orcwer")
"""Metrics that mean something where no speakers are told apart."""


class Accuracy:
    """Scores transcripts as `murmur score` does; a transcript that several settings share is
    scored once.

    `unpaired` are sessions that no reference is about.
    """

    def __init__(
        self,
        references: Side | None,
        normalizer: Normalizer,
        settings: ScoreSettings,
        stretches: Mapping[str, Sequence[TimeSpan]],
    ) -> None:
        self.normalizer = normalizer
        self.settings = settings
        self.unpaired: set[str] = set()
        self._references = references
        self._stretches = stretches
        self._scored: dict[Path, Mapping[str, Counts]] = {}

    @property
    def region(self) -> str | None:
        """What is scored of the recordings; None without references."""
        if self._references is None:
            return None
        return "UEM, what it does not know whole" if self._stretches else "whole files"

    def counts(self, transcript: Path) -> Mapping[str, Counts]:
        """Errors of a transcript by metric; nothing if no reference is about it."""
        if self._references is None:
            return {}
        if transcript not in self._scored:
            self._scored[transcript] = self._score(transcript, self._references)
        return self._scored[transcript]

    def disagreement(self, transcript: Path, other: Path) -> WordCounts:
        """Edits that make the words of `transcript` from those of `other`."""
        return edits(self._stream(other), self._stream(transcript))

    def _score(self, transcript: Path, references: Side) -> Mapping[str, Counts]:
        side = _read(transcript)
        pairs = pair_sessions(references, side).pairs
        met = tuple(pair for pair in pairs if pair.hypothesis is not None)
        if not met:
            self.unpaired.update(side.sessions)
            return {}
        board = score_all(Pairing(met, ()), self.normalizer, self.settings, self._stretches)
        (session,) = board.sessions
        if session.names_nobody:
            return {name: session.counts[name] for name in SPEAKERLESS if name in session.counts}
        return session.counts

    def _stream(self, transcript: Path) -> Stream:
        (session,) = _read(transcript).sessions.values()
        return normalised_stream(session.utterances or (), self.normalizer)


def _read(transcript: Path) -> Side:
    """The one session of a transcript.

    Raises:
        UsageError: somebody has damaged it.
    """
    side = read_side([transcript], chosen=frozenset([transcript]))
    if side.unreadable:
        raise UsageError(f"{side.unreadable[0].reason}; delete it, and the same call runs it again")
    return side
