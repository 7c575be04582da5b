"""Errors of what a contender heard: of each recording, and pooled by counts over all."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from murmur_cli.bench.bench_audio import BenchAudio
from murmur_cli.bench.contender_process import UNKNOWN, Heard
from murmur_cli.bench.record import Column, Detail, Figure
from murmur_cli.bench.scoring import (
    Errors,
    speaker_word_errors,
    time_errors,
    timed_speaker_word_errors,
    with_speakers,
    word_errors,
)

WER = Column("wer_percent", "WER %", digits=2)
CPWER = Column("cpwer_percent", "cpWER %", digits=2)
SPEAKER_WORDS = Column("cpwer_minus_wer_percent", "cpWER − WER", digits=2)
TCPWER = Column("tcpwer_percent", "tcpWER %", digits=2)
DER = Column("der_percent", "DER %", digits=2)
JER = Column("jer_percent", "JER %", digits=2)
COUNT = Column("speaker_count_error", "speakers off", digits=2)
SPEAKER_COLUMNS = (CPWER, SPEAKER_WORDS, TCPWER, DER, JER, COUNT)

FOUND_SPEAKERS = Column("speakers_found", "speakers found", digits=0)
TRUE_SPEAKERS = Column("speakers_in_reference", "in the reference", digits=0)
SPEAKER_DETAILS = (Detail(DER), Detail(FOUND_SPEAKERS, TRUE_SPEAKERS))

NONE = Errors()


@dataclass(frozen=True, slots=True)
class JobErrors:
    """Of one recording. What has no reference, or was not heard, has no errors of no length.

    speakers: how many have turns, (found, in the reference); None without reference turns.
    """

    words: Errors = NONE
    speaker_words: Errors = NONE
    timed_words: Errors = NONE
    time: Errors = NONE
    jaccard: Errors = NONE
    speakers: tuple[int, int] | None = None


def job_errors(audio: BenchAudio, heard: Heard, *, diarize: bool) -> JobErrors:
    """The errors of one recording; those of speakers only if they were to be found."""
    words, speaker_words, timed_words = NONE, NONE, NONE
    if audio.spoken is not None and heard.words is not None:
        words = word_errors(audio.spoken, heard.words)
        if diarize:
            named = any(word.speaker != UNKNOWN for word in heard.words)
            given = heard.words if named else with_speakers(heard.words, heard.turns)
            speaker_words = speaker_word_errors(audio.spoken, given)
            timed_words = timed_speaker_word_errors(audio.spoken, given)
    if not diarize or audio.turns is None:
        return JobErrors(words, speaker_words, timed_words)
    times = time_errors(audio.turns, heard.turns, audio.duration_s)
    true = len({turn.speaker for turn in audio.turns})
    return JobErrors(
        *(words, speaker_words, timed_words, times.time, times.jaccard),
        (true + times.count, true),
    )


def error_figures(
    audio: Sequence[BenchAudio], heard: Sequence[Heard], *, diarize: bool
) -> dict[str, Figure]:
    """Rates pooled over the recordings that have a reference; None where none has."""
    return pooled(
        job_errors(one, found, diarize=diarize) for one, found in zip(audio, heard, strict=True)
    )


def pooled(recordings: Iterable[JobErrors]) -> dict[str, Figure]:
    """Rates by the counts of all recordings together; the mean of how many speakers are off."""
    errors = list(recordings)
    wer = sum((one.words for one in errors), NONE).percent
    cpwer = sum((one.speaker_words for one in errors), NONE).percent
    off = [abs(one.speakers[0] - one.speakers[1]) for one in errors if one.speakers is not None]
    return {
        WER.key: wer,
        CPWER.key: cpwer,
        SPEAKER_WORDS.key: None if wer is None or cpwer is None else cpwer - wer,
        TCPWER.key: sum((one.timed_words for one in errors), NONE).percent,
        DER.key: sum((one.time for one in errors), NONE).percent,
        JER.key: sum((one.jaccard for one in errors), NONE).percent,
        COUNT.key: sum(off) / len(off) if off else None,
    }


def recording_figures(errors: JobErrors) -> dict[str, Figure]:
    """The rates of one recording, and its numbers of speakers."""
    found, true = errors.speakers or (None, None)
    rates = pooled([errors])
    del rates[COUNT.key]
    return rates | {FOUND_SPEAKERS.key: found, TRUE_SPEAKERS.key: true}
