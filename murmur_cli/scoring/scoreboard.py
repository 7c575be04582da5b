"""Everything that was scored: sessions, their pooled counts, and speakers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from murmur_cli.scoring.counts import Counts, JaccardCounts, TimeCounts, WordCounts
from murmur_cli.scoring.meeteval_log import quiet_meeteval
from murmur_cli.scoring.normalizers.base import Normalizer
from murmur_cli.scoring.pairing import Pair, Pairing, Standing
from murmur_cli.scoring.session_score import METRICS, Expected, SessionScore, score_session
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.types import TimeSpan

_ZERO: dict[str, Counts] = {"der": TimeCounts(), "jer": JaccardCounts()}


@dataclass(frozen=True, slots=True)
class SpeakerTotal:
    """A reference speaker over all sessions under cpWER's and tcpWER's pairing; the name is None
    for speakers of hypotheses who were paired with nobody."""

    speaker: str | None
    sessions: int
    cpwer: WordCounts
    tcpwer: WordCounts


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """The result of a call.

    Attributes:
        settings, normalizer: how it was scored.
        sessions: in order of their ids.
        without_reference: hypotheses that were not scored.
    """

    settings: ScoreSettings
    normalizer: Normalizer
    sessions: tuple[SessionScore, ...]
    without_reference: tuple[str, ...]

    @property
    def counted(self) -> tuple[SessionScore, ...]:
        """Sessions in the pooled figures: all but those that failed."""
        return tuple(session for session in self.sessions if session.is_counted)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Those that some session has, in the order of reports."""
        return tuple(name for name in METRICS if any(name in one.counts for one in self.sessions))

    def of_standing(self, standing: Standing) -> tuple[SessionScore, ...]:
        """Sessions of one standing."""
        return tuple(session for session in self.sessions if session.standing is standing)

    def pooled(self) -> Mapping[str, Counts]:
        """Counts of all counted sessions added up, by metric."""
        return {name: self._pooled(name) for name in self.metrics}

    def _pooled(self, metric: str) -> Counts:
        total = _ZERO.get(metric, WordCounts())
        for session in self.counted:
            if metric in session.counts:
                total = total + session.counts[metric]  # type: ignore[operator]
        return total

    def speakers(self) -> tuple[SpeakerTotal, ...]:
        """Reference speakers in order of their names; one name is one person in all sessions."""
        found: dict[str | None, list[SpeakerTotal]] = {}
        for session in self.counted:
            pairs = {
                metric: {} if metric not in session.words else _by_reference(session, metric)
                for metric in ("cpwer", "tcpwer")
            }
            for name in {*pairs["cpwer"], *pairs["tcpwer"]}:
                found.setdefault(name, []).append(
                    SpeakerTotal(
                        name,
                        1,
                        pairs["cpwer"].get(name, WordCounts()),
                        pairs["tcpwer"].get(name, WordCounts()),
                    )
                )
        order = sorted(found, key=lambda name: (name is None, name or ""))
        return tuple(_total(name, found[name]) for name in order)

    def methods(self, metric: str) -> Mapping[str, int]:
        """How a word metric was found, with the number of sessions."""
        methods: dict[str, int] = {}
        for session in self.counted:
            if metric in session.words:
                method = session.words[metric].method
                methods[method] = methods.get(method, 0) + 1
        return methods


def score_all(
    pairing: Pairing,
    normalizer: Normalizer,
    settings: ScoreSettings,
    stretches: Mapping[str, Sequence[TimeSpan]],
) -> Scoreboard:
    """Score every pair. `stretches` has what is scored of sessions that a UEM limits."""
    expected = _expected(pairing.pairs)
    with quiet_meeteval():
        sessions = tuple(
            score_session(
                pair, normalizer, settings, expected, stretches.get(pair.reference.session_id)
            )
            for pair in pairing.pairs
        )
    return Scoreboard(settings, normalizer, sessions, pairing.without_reference)


def _expected(pairs: Sequence[Pair]) -> Expected:
    found = [pair.hypothesis for pair in pairs if pair.hypothesis is not None]
    return Expected(
        any(one.utterances is not None for one in found),
        any(one.turns is not None for one in found),
    )


def _by_reference(session: SessionScore, metric: str) -> dict[str | None, WordCounts]:
    counts: dict[str | None, WordCounts] = {}
    for pair in session.words[metric].speakers:
        counts[pair.reference] = counts.get(pair.reference, WordCounts()) + pair.counts
    return counts


def _total(name: str | None, parts: Sequence[SpeakerTotal]) -> SpeakerTotal:
    return SpeakerTotal(
        name,
        len(parts),
        sum((part.cpwer for part in parts), WordCounts()),
        sum((part.tcpwer for part in parts), WordCounts()),
    )
