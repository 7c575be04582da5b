"""Outputs that are a JSON list of segments, read as far as they can be.

A model writes its list token by token: it may stop anywhere, forget a quote, a comma or a brace,
and leave quotes inside a text unescaped. The reader therefore looks for segments, not for a
list. Where a string ends is told by what follows its quote: a brace, or the next key.

Every pattern is possessive or bounded, so that reading takes time in proportion to the text.
"""

from __future__ import annotations

import math
import re
from enum import IntEnum, auto

from murmur_cli.asr.speech_llm.family import SpokenOutput, SpokenSegment

MAX_TIME_S = 86_400.0
"""Times beyond a day are no times."""


class Field(IntEnum):
    """What a key names."""

    START = auto()
    END = auto()
    SPEAKER = auto()
    CONTENT = auto()


_FIELDS = {
    "start": Field.START,
    "begin": Field.START,
    "end": Field.END,
    "speaker": Field.SPEAKER,
    "content": Field.CONTENT,
    "text": Field.CONTENT,
    "transcript": Field.CONTENT,
}

_QUOTES = "\"'“”‘’„"
_CLOSERS = {'"': '"', "'": "'", "“": '”“"', "”": '”"', "„": '“”"', "‘": "’‘'", "’": "’'"}
"""What may close a string, by the quote that opened it."""

# --- keys ---------------------------------------------------------------------------------------

_STEM = f"(?ai:{'|'.join(_FIELDS)})"
_SUFFIX = "(?ai:ion)?(?ai:[ _-]?(?:timestamp|time|seconds|sec|s|id|label))?"
_QUOTE = f"[{_QUOTES}]"
_COLON = r"\s*+:"
_KNOWN = f"{_QUOTE}{_STEM}{_SUFFIX}{_QUOTE}{_COLON}"
_BARE_KNOWN = f"{_STEM}{_SUFFIX}{_COLON}"
_ANY = rf"{_QUOTE}[^{_QUOTES}\n]{{1,64}}{_QUOTE}{_COLON}"

_KEY = re.compile(f"{_QUOTE}?(?P<stem>{_STEM}){_SUFFIX}{_QUOTE}?{_COLON}|{_ANY}")
_OPENING = re.compile(rf"\{{\s*+(?={_ANY}|{_BARE_KNOWN})|(?={_KNOWN})")
"""A segment begins: at its brace, or at a key if the brace is missing."""
_RESUME = re.compile(rf"[{{}}\[\]]|(?={_KNOWN})")
"""Where a damaged segment can be read on."""

# --- values -------------------------------------------------------------------------------------

_AFTER_STRING = (
    rf"\s*+(?:\}}|,\s*+[}}\]]|\](?=[\s,\]]*+(?:\Z|[\[{{`]))"
    rf"|(?:,\s*+)?+(?:\{{\s*+)?+{_KNOWN}|,\s*+(?:{_ANY}|{_BARE_KNOWN}))"
)
_STOPS = {
    closers: re.compile(
        rf"\\(?s:.)|(?P<close>[{closers}])(?={_AFTER_STRING})"
        rf"|(?P<key>[{closers}])(?={_STEM}{_SUFFIX}[{closers}]{_COLON})"
    )
    for closers in _CLOSERS.values()
}
"""Where a string ends: at its closing quote; if that is missing, before the next key."""
_LEFT_OF_KEY = " \t\r\n,{}\\" + _QUOTES
_GAP = re.compile(r"[\s,]*+")
_LITERAL = re.compile(r"(?:(?ai:null|none)|[-+0-9.]++)(?=\s*+[,}\]])")
_BARE = re.compile(rf"[^,{{}}\[\]{_QUOTES}]*+(?:,[0-9]++)?+")
_NESTED = re.compile(rf"\{{|\[\s*+[{_QUOTES}{{\[\]]")
_ESCAPE = re.compile(
    r"\\u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u(?P<unit>[0-9a-fA-F]{4})|\\(?P<char>[\"'\\/bfnrt])"
)
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}

_SPEAKER = re.compile(r"(?ai:(?:speaker|spk|s)[ _#-]*+)?([0-9]{1,6})(?:\.0*+)?")
_NO_VALUE = re.compile(r"(?ai:null|none|nan|n/?a|unknown|undefined|-|\?|-[0-9.]++)?")
_MAX_NUMBER_CHARACTERS = 40

# --- around segments ----------------------------------------------------------------------------

_FENCE = r"```(?:json\b)?"
_PREAMBLE = re.compile(rf"\s*+(?:assistant(?=\s*+\Z|[ \t]*+\n|\s*+[\[{{`])\s*+)?(?:{_FENCE}\s*+)?")
_NOISE = re.compile(rf"(?:{_FENCE}|[\s,:\\\[\]{{}}{_QUOTES}]++|assistant\b)*+")
"""What carries nothing: brackets, commas, quotes, fences and the name of the turn."""
_DAMAGED_LIST = re.compile(rf"\A\[\s*+(?:\Z|[\[{{])|\{{\s*+(?:\Z|{_QUOTE})")
_TAGS = re.compile(r"\s*+(?:\[[^\[\]]{1,40}\][\s.]*+)++")


def read_segments(text: str, *, is_cut: bool) -> SpokenOutput:
    """The segments of an output such as `[{"Start":0.0,"End":7.5,"Speaker":0,"Content":"…"}]`.

    Never raises and loses nothing: what belongs to no whole segment is in `unreadable`. A segment
    is whole once its text has ended; the last one only if something follows its text that ends
    the segment. Text without any JSON is one segment, unless it is cut. Times that are not
    numbers from 0 to `MAX_TIME_S` are None; times are not compared with each other.

    is_cut: the output did not end by itself.
    """
    body = text[_match_end(_PREAMBLE, text, 0) :].strip()
    reading = _Reading(body)
    reading.read()
    if not reading.has_json and not _NOISE.fullmatch(body):
        plain = body.removesuffix("```").rstrip()
        if is_cut or _DAMAGED_LIST.search(body):
            return SpokenOutput((), is_whole=False, unreadable=plain)
        return SpokenOutput((_spoken(plain),))
    return SpokenOutput(
        tuple(reading.segments),
        is_whole=not (is_cut or reading.is_open or reading.unreadable),
        unreadable="\n".join(reading.unreadable),
    )


class _Reading:
    """One pass over a text, from opening to opening."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.segments: list[SpokenSegment] = []
        self.unreadable: list[str] = []
        self.has_json = False
        self.is_open = False  # the last bracket between segments opens something

    def read(self) -> None:
        """Read all."""
        place = 0
        while opening := _OPENING.search(self._text, place):
            self.has_json = True
            self._pass_over(place, opening.start())
            place = self._read_segment(opening.start(), opening.end())
        self._pass_over(place, len(self._text))

    def _pass_over(self, start: int, end: int) -> None:
        """What stands between segments."""
        raw = self._text[start:end]
        last = next((bracket for bracket in reversed(raw) if bracket in "[]{}"), None)
        if last is not None:
            self.is_open = last in "[{"
        self._keep(raw)

    def _keep(self, raw: str) -> None:
        if raw and not _NOISE.fullmatch(raw):
            self.unreadable.append(raw.strip(" \t\r\n,"))

    def _read_segment(self, start: int, place: int) -> int:
        """Read the segment that begins at `start`, its keys at `place`; where it ends."""
        values: dict[Field, str] = {}
        strays: list[str] = []
        while True:
            place = _match_end(_GAP, self._text, place)
            key = _KEY.match(self._text, place)
            if key is None:
                if place == len(self._text) or self._text[place] in "{}[]":
                    break
                resume = _RESUME.search(self._text, place)
                end = resume.start() if resume else len(self._text)
                strays.append(self._text[place:end])
                place = end
                continue
            field = _FIELDS[key["stem"].lower()] if key["stem"] else None
            if field in values:
                break  # a new segment, without brackets between
            if _NESTED.match(self._text, _match_end(_GAP, self._text, key.end())):
                self._keep(self._text[start : key.end()])
                return key.end()
            value, place = self._read_value(field, _match_end(_GAP, self._text, key.end()))
            if field is None:
                strays.append(self._text[key.start() : place])
            else:
                values[field] = value
        return self._end_segment(start, place, values, strays)

    def _read_value(self, field: Field | None, place: int) -> tuple[str, int]:
        """A value and where it ends: at the end of the text if it is not closed."""
        opener = self._text[place : place + 1]
        if opener and opener in _CLOSERS:
            return self._read_string(place + 1, _CLOSERS[opener])
        if field is not Field.CONTENT:
            end = _match_end(_BARE, self._text, place)
            return self._text[place:end].strip(), end
        if literal := _LITERAL.match(self._text, place):
            return ("" if literal[0][0] in "nN" else literal[0]), literal.end()
        return self._read_string(place, '"')

    def _read_string(self, start: int, closers: str) -> tuple[str, int]:
        for stop in _STOPS[closers].finditer(self._text, start):
            if stop["close"]:
                return _unescaped(self._text[start : stop.start()]), stop.end()
            if stop["key"]:
                raw = self._text[start : stop.start()].rstrip(_LEFT_OF_KEY)
                return _unescaped(raw), start + len(raw)
        return "", len(self._text)

    def _end_segment(
        self, start: int, place: int, values: dict[Field, str], strays: list[str]
    ) -> int:
        is_closed = self._text.startswith("}", place)
        end = place + 1 if is_closed else place
        if place == len(self._text) or Field.CONTENT not in values:
            self._keep(self._text[start:end])
            return end
        start_s, not_start = _time_s(values.get(Field.START, ""))
        end_s, not_end = _time_s(values.get(Field.END, ""))
        speaker, not_speaker = _speaker(values.get(Field.SPEAKER, ""))
        self.segments.append(_spoken(values[Field.CONTENT], start_s, end_s, speaker))
        for stray in (*strays, not_start, not_end, not_speaker):
            self._keep(stray)
        return end


def _spoken(
    text: str,
    start_s: float | None = None,
    end_s: float | None = None,
    speaker: int | None = None,
) -> SpokenSegment:
    is_event = _TAGS.fullmatch(text) is not None
    return SpokenSegment(text, start_s, end_s, speaker, is_event)


def _match_end(pattern: re.Pattern[str], text: str, place: int) -> int:
    """Where a pattern that matches everywhere, be it nothing, ends."""
    match = pattern.match(text, place)
    assert match is not None
    return match.end()


def _unescaped(raw: str) -> str:
    """JSON's escapes resolved; what is none stays as it is."""
    return _ESCAPE.sub(_character, raw) if "\\" in raw else raw


def _character(escape: re.Match[str]) -> str:
    if escape["high"]:
        high, low = int(escape["high"], 16), int(escape["low"], 16)
        return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
    if escape["unit"]:
        unit = int(escape["unit"], 16)
        return "\N{REPLACEMENT CHARACTER}" if 0xD800 <= unit < 0xE000 else chr(unit)
    return _ESCAPED.get(escape["char"], escape["char"])


def _time_s(value: str) -> tuple[float | None, str]:
    """Seconds of '12.5', '12,5', '12.5s' or '0:01:02.5'; the value itself if it is none of them."""
    value = value.strip()
    if _NO_VALUE.fullmatch(value):
        return None, ""
    parts = value.rstrip("s").split(":", 3)
    if len(value) > _MAX_NUMBER_CHARACTERS or len(parts) > 3:
        return None, value
    try:
        numbers = [float(part.replace(",", ".")) for part in parts]
    except ValueError:
        return None, value
    if not all(math.isfinite(number) and number >= 0.0 for number in numbers):
        return None, ""
    time_s = sum(number * 60.0**power for power, number in enumerate(reversed(numbers)))
    return (time_s if time_s <= MAX_TIME_S else None), ""


def _speaker(value: str) -> tuple[int | None, str]:
    """The number in '1' or 'Speaker 1'; the value itself if there is none."""
    value = value.strip()
    if _NO_VALUE.fullmatch(value):
        return None, ""
    number = _SPEAKER.fullmatch(value)
    return (int(number[1]), "") if number else (None, value)
