"""When the words of an answer were heard, from the heads that followed the audio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from murmur_cli.asr.speech_llm.answer_text import AnswerText
from murmur_cli.asr.speech_llm.following_heads import following_heads
from murmur_cli.asr.speech_llm.text_words import TextWord, split_text
from murmur_cli.asr.speech_llm.token_entries import agreement, first_entries
from murmur_cli.engine.speech_peaks import PeakTrace

MIN_AGREEMENT = 0.5
"""Of what the heads saw: with less of it where the path lies, the times are a guess."""

MIN_COVERED = 0.5
"""Of the speech: heads that stay within less of it, while all of it was written down, do not
follow it."""

MARGIN_S = 0.5
"""A segment's words may lie this far beyond its times, which models round."""


@dataclass(frozen=True, slots=True)
class HeardWord:
    """A word and its time in seconds of the audio that was asked about."""

    word: TextWord
    start_s: float
    end_s: float


@dataclass(slots=True)
class AttendedAnswer:
    """An answer whose following heads were watched. Its segments are asked for in order.

    trace: of these heads. entry_s: seconds of audio behind one speech entry.
    """

    text: AnswerText
    trace: PeakTrace
    entry_s: float
    _read: int = field(default=0)

    @classmethod
    def of(
        cls,
        text: AnswerText,
        trace: PeakTrace | None,
        is_text: Sequence[bool],
        entry_s: float,
        spoken_s: float,
    ) -> AttendedAnswer | None:
        """None if no watched head followed the audio.

        Args:
            text: of the answer's tokens.
            trace: what was watched; its tokens are the answer's or more.
            is_text: which tokens are no marks.
            entry_s: seconds of audio behind one speech entry.
            spoken_s: from the first speech of the audio to the last that the answer must tell of;
                0 if it may tell of any part.
        """
        tokens = len(is_text)
        if trace is None or not tokens:
            return None
        whole = trace.part(slice(0, tokens), range(len(trace.heads)))
        counts = np.asarray(is_text, dtype=bool)
        best = following_heads(whole, counts)
        if not best:
            return None
        follows = whole.part(slice(None), best)
        passed = np.quantile(follows.places[counts].mean(axis=1), [0.05, 0.95])
        if float(passed[1] - passed[0]) * entry_s < MIN_COVERED * spoken_s:
            return None
        return cls(text, follows, entry_s)

    def words(self, text: str, start_s: float, end_s: float) -> tuple[HeardWord, ...] | None:
        """The words of the next segment, within its times; None if they were not seen there."""
        span = self.text.find(text, self._read)
        words = split_text(text)
        if span is None or not words:
            return None
        self._read = span[1]
        first = max(0, round((start_s - MARGIN_S) / self.entry_s))
        end = max(first + 1, round((end_s + MARGIN_S) / self.entry_s))
        begin, last = self.text.token_at(span[0]), self.text.token_at(span[1] - 1)
        trace = self.trace.part(slice(begin, last + 1), range(len(self.trace.heads)))
        entries = first_entries(trace, first, end)
        if agreement(trace, entries) < MIN_AGREEMENT:
            return None
        times_s = np.clip(entries * self.entry_s, start_s, end_s)
        return tuple(self._placed(words, text, span, begin, times_s))

    def _placed(
        self,
        words: Sequence[TextWord],
        text: str,
        span: tuple[int, int],
        begin: int,
        times_s: npt.NDArray[np.float64],
    ) -> list[HeardWord]:
        """Words at the times of their tokens; words of one token share its time by their letters.

        times_s: of the tokens from `begin` on, and of the end.
        """
        places = self.text.places_of(text, span)
        visible = [place for place, char in zip(places, text, strict=True) if not char.isspace()]
        lengths = np.cumsum([0, *(len(word.text) for word in words)]).tolist()
        edges = [(visible[a], visible[b - 1]) for a, b in pairwise(lengths)]
        tokens = [(self.text.token_at(a), self.text.token_at(b)) for a, b in edges]
        heard = []
        for number, (word, (first, last), (start, _)) in enumerate(
            zip(words, tokens, edges, strict=True)
        ):
            shares_first = number > 0 and tokens[number - 1][1] == first
            shares_last = number + 1 < len(words) and tokens[number + 1][0] == last
            start_s = float(times_s[first - begin])
            if shares_first:
                start_s += self._part_s(start, first - begin, times_s)
            end_s = float(times_s[last - begin + 1])
            if shares_last:
                end_s = float(times_s[last - begin])
                end_s += self._part_s(edges[number + 1][0], last - begin, times_s)
            heard.append(HeardWord(word, start_s, max(start_s, end_s)))
        return heard

    def _part_s(self, place: int, token: int, times_s: npt.NDArray[np.float64]) -> float:
        """Seconds of a token before the character at `place`."""
        return float(times_s[token + 1] - times_s[token]) * self.text.share_before(place)
