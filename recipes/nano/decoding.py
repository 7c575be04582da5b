"""Meetings through Murmur's engine, and how far the transcripts are from what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder, SpeechSource
from murmur_cli.asr.speech_llm.token_rule import FamilyRule
from murmur_cli.engine.decode_engine import DecodeEngine
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Finished, Request
from murmur_cli.types import SampleSpan
from nano.batch import PROMPT, SUFFIX
from nano.family import Nano
from nano.language import MAX_FRAMES, WORD_BASE, language
from nano.meeting import CODE_DIGITS, Meeting, make_meeting
from nano.sound import SAMPLE_RATE_HZ, sounding

CODES = 3
"""Hidden in each held-out chunk that is long enough."""


def held_out(frames: int, count: int) -> list[Meeting]:
    """Meetings that training has not seen: its seeds are larger, see `train`."""
    codes = CODES if frames >= MAX_FRAMES // 3 else 0
    return [make_meeting(seed, frames, codes=codes) for seed in range(count)]


def decode(
    nano: Nano,
    meetings: Sequence[Meeting],
    *,
    evict: str = "none",
    options: Mapping[str, str] | None = None,
    slots: int = 4,
) -> list[Finished]:
    """What the engine makes of each meeting under a policy, greedy."""
    requests = [request_of(meeting, str(number)) for number, meeting in enumerate(meetings)]
    longest_s = max(request.audio_s for request in requests)
    policy = build_policy(evict, dict(options or {}), nano.traits.rates(longest_s))
    engine = DecodeEngine(
        SpeechLlmDecoder(nano, longest_s), policy, FamilyRule(nano), slots, guard=nano.traits.guard
    )
    engine.submit(requests)
    done: dict[str, Finished] = {}
    while engine.busy:
        for finished in engine.step():
            assert isinstance(finished, Finished), finished
            done[finished.request.key] = finished
    engine.close()
    return [done[request.key] for request in requests]


def request_of(meeting: Meeting, key: str) -> Request:
    """The meeting as a recording of its own."""
    audio = sounding(meeting.frames)
    audio_s = len(audio) / SAMPLE_RATE_HZ
    guard = Nano.traits.guard
    return Request(
        key=key,
        source=SpeechSource(audio, (SampleSpan(0, len(audio)),)),
        prompt=PROMPT,
        audio_s=audio_s,
        max_new_tokens=guard.free_tokens + round(Nano.traits.max_output_tokens_per_s * audio_s),
        suffix=SUFFIX,
    )


@dataclass(frozen=True, slots=True)
class TokenErrors:
    """Insertions, deletions and substitutions against what was said; codes found whole."""

    errors: int = 0
    tokens: int = 0
    codes: int = 0
    codes_found: int = 0

    def __add__(self, other: TokenErrors) -> TokenErrors:
        return TokenErrors(
            self.errors + other.errors,
            self.tokens + other.tokens,
            self.codes + other.codes,
            self.codes_found + other.codes_found,
        )

    @property
    def percent(self) -> float:
        """Token error rate."""
        return 100.0 * self.errors / self.tokens


def token_errors(meeting: Meeting, output: Sequence[int]) -> TokenErrors:
    """Fewest operations (MeetEval); a code is found if its seven digits follow 'code'."""
    from meeteval.wer.wer.siso import siso_word_error_rate

    reference = meeting.tokens[:-1]
    rate = siso_word_error_rate(" ".join(map(str, reference)), " ".join(map(str, output)))
    found = codes_of(output)
    return TokenErrors(
        rate.errors,
        len(reference),
        len(meeting.codes),
        sum(code in found for code in meeting.codes),
    )


def codes_of(tokens: Sequence[int]) -> list[tuple[int, ...]]:
    """Digits after each word 'code' of an output, marks left aside."""
    words = [token - WORD_BASE for token in tokens if token >= WORD_BASE]
    code = language().code
    return [
        tuple(words[place + 1 : place + 1 + CODE_DIGITS])
        for place, word in enumerate(words)
        if word == code
    ]


def mean_errors(meetings: Sequence[Meeting], done: Sequence[Finished]) -> TokenErrors:
    """Of all outputs together."""
    each = (token_errors(meeting, one.tokens) for meeting, one in zip(meetings, done, strict=True))
    return sum(each, TokenErrors())
