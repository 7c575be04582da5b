"""One session, scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from murmur_cli.scoring.counts import Counts
from murmur_cli.scoring.edit_distance import edits
from murmur_cli.scoring.material import SessionMaterial, Utterance
from murmur_cli.scoring.normalizers.base import Normalizer
from murmur_cli.scoring.pairing import Pair, Standing
from murmur_cli.scoring.segment_assignment import di_cp_score, orc_score
from murmur_cli.scoring.settings import ScoreSettings
from murmur_cli.scoring.speaker_pairing import MEETEVAL, cp_score, tcp_score
from murmur_cli.scoring.streams import Stream, normalised_stream
from murmur_cli.scoring.time_errors import region_of, score_times
from murmur_cli.scoring.word_score import WordScore
from murmur_cli.types import SpeakerTurn, TimeSpan

WORD_METRICS = ("wer", "cpwer", "tcpwer", "orcwer", "dicpwer")
TIME_METRICS = ("der", "jer")
METRICS = (*WORD_METRICS, *TIME_METRICS)
WHOLE, LIMITED = "whole file", "UEM"
HOLES = " without what the STM ignores"


@dataclass(frozen=True, slots=True)
class SessionScore:
    """Errors of one session.

    Attributes:
        pair: what was compared, and how it stands.
        region: 'whole file' or 'UEM', and whether the STM takes stretches out.
        speakers: number in the reference.
        found_speakers: number in the hypothesis.
        counts: by metric; a metric that the files cannot give is absent.
        words: by word metric: how it was found, and pairs of speakers.
        reference, hypothesis: words as compared, for the aligned view.
        lacks_words: the hypothesis has turns but no words, which others have; they count as
            left out.
    """

    pair: Pair
    region: str
    speakers: int
    found_speakers: int
    counts: Mapping[str, Counts]
    words: Mapping[str, WordScore]
    reference: Stream
    hypothesis: Stream
    lacks_words: bool = False

    @property
    def session_id(self) -> str:
        """Of the reference."""
        return self.pair.reference.session_id

    @property
    def standing(self) -> Standing:
        """What there was to score."""
        return self.pair.standing

    @property
    def names_nobody(self) -> bool:
        """Whether the hypothesis has words and tells of none who says them."""
        hypothesis = self.pair.hypothesis
        spoken = (hypothesis.utterances or ()) if hypothesis is not None else ()
        return bool(spoken) and all(one.speaker is None for one in spoken)

    @property
    def is_counted(self) -> bool:
        """Whether it belongs into pooled figures."""
        return self.standing is not Standing.FAILED


@dataclass(frozen=True, slots=True)
class Expected:
    """What the hypotheses of a call hold at all: a session without it left it out."""

    words: bool
    turns: bool


def score_session(
    pair: Pair,
    normalizer: Normalizer,
    settings: ScoreSettings,
    expected: Expected,
    stretches: Sequence[TimeSpan] | None = None,
) -> SessionScore:
    """All metrics that the files of the pair allow; none if it failed.

    An utterance counts if it overlaps the region; turns are cut to it. `stretches` limits the
    region, None is the whole file.
    """
    reference, hypothesis = pair.reference, pair.hypothesis
    turns, found_turns = reference.turns or (), _turns(hypothesis)
    ends = [turn.span for turn in (*turns, *found_turns)]
    ends += [one.span for one in (*(reference.utterances or ()), *_utterances(hypothesis))]
    region = region_of(stretches, reference.ignored, ends)
    limited = stretches is not None or bool(reference.ignored)
    text = _inside(reference.utterances or (), region if limited else None)
    found_text = _inside(_utterances(hypothesis), region if limited else None)
    spoken = normalised_stream(text, normalizer)
    found = normalised_stream(found_text, normalizer)
    counts: dict[str, Counts] = {}
    words: dict[str, WordScore] = {}
    if pair.standing is not Standing.FAILED:
        if expected.words and reference.utterances is not None:
            words = _word_scores(spoken, found, reference, hypothesis, settings)
            counts.update({metric: score.counts for metric, score in words.items()})
        if expected.turns and reference.turns is not None:
            times = score_times(turns, found_turns, region, settings)
            counts.update(der=times.diarization, jer=times.jaccard)
    return SessionScore(
        pair,
        (WHOLE if stretches is None else LIMITED) + (HOLES if reference.ignored else ""),
        _speaker_number(spoken, turns),
        _speaker_number(found, found_turns),
        counts,
        words,
        spoken,
        found,
        bool(words) and hypothesis is not None and hypothesis.utterances is None,
    )


def _word_scores(
    spoken: Stream,
    found: Stream,
    reference: SessionMaterial,
    hypothesis: SessionMaterial | None,
    settings: ScoreSettings,
) -> dict[str, WordScore]:
    metrics: dict[str, Callable[[], WordScore]] = {
        "wer": lambda: WordScore(edits(spoken, found), MEETEVAL),
        "cpwer": lambda: cp_score(spoken, found),
        "tcpwer": lambda: tcp_score(spoken, found, settings.collar_s),
    }
    # Assigning single words wherever they fit would be no measure of anything.
    if reference.segmented:
        metrics["orcwer"] = lambda: orc_score(spoken, found)
    if hypothesis is None or hypothesis.segmented:
        metrics["dicpwer"] = lambda: di_cp_score(spoken, found)
    return {metric: score() for metric, score in metrics.items()}


def _utterances(material: SessionMaterial | None) -> tuple[Utterance, ...]:
    return (material.utterances or ()) if material is not None else ()


def _turns(material: SessionMaterial | None) -> tuple[SpeakerTurn, ...]:
    return (material.turns or ()) if material is not None else ()


def _inside(
    utterances: Sequence[Utterance], region: Sequence[TimeSpan] | None
) -> Sequence[Utterance]:
    if region is None:
        return utterances
    return [one for one in utterances if any(one.span.overlap_s(span) > 0 for span in region)]


def _speaker_number(words: Stream, turns: Sequence[SpeakerTurn]) -> int:
    """Who has words or turns; the names of the two may come from different files."""
    return len({turn.speaker for turn in turns} or {spoken.speaker for spoken in words})
