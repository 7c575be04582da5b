"""SRT and WebVTT: cues. Speakers are read where cues name them as Murmur's do, or in voice tags.

Murmur names the speaker of a cue when it changes (`SPEAKER_01: …`); WebVTT has `<v Name>`.
"""

from __future__ import annotations

import html
import re

from murmur_cli.errors import RecordingError
from murmur_cli.scoring.formats.fields import span_of
from murmur_cli.scoring.material import FileContent, Utterance
from murmur_cli.types import TimeSpan

_CLOCK = r"(?:(\d{1,6}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
_TIMES = re.compile(rf"^\s*{_CLOCK}\s*-->\s*{_CLOCK}(?:\s.*)?$")
_VOICE = re.compile(r"^<v(?:\.\S+)?\s+([^>]+)>")
_NAMED = re.compile(r"^\u2068?(SPEAKER_\d+)\u2069?:(?:\s+|$)")
_NO_CUES = ("NOTE", "STYLE", "REGION")
_TAG = re.compile(r"</?[A-Za-z0-9][^>]*>")


def read_srt(text: str, stem: str) -> FileContent:
    """The cues as utterances of the session `stem`.

    Raises:
        RecordingError: a cue has no times, or an end before its start.
    """
    return _read(_blocks(text), stem)


def read_vtt(text: str, stem: str) -> FileContent:
    """The cues as utterances of the session `stem`; header, notes and styles left out.

    Raises:
        RecordingError: no 'WEBVTT' at the start, a cue has no times or an end before its start.
    """
    blocks = _blocks(text)
    if not blocks or blocks[0][0].split()[0] != "WEBVTT":
        raise RecordingError("not WebVTT: the first line does not start with WEBVTT")
    cues = [block for block in blocks[1:] if block[0].split()[0] not in _NO_CUES]
    return _read(cues, stem)


def _blocks(text: str) -> list[list[str]]:
    """Lines between blank ones."""
    parts = re.split(r"\n[ \t]*\n", text.removeprefix("\ufeff").replace("\r\n", "\n"))
    lines = ([line for line in part.split("\n") if line.strip()] for part in parts)
    return [block for block in lines if block]


def _read(cues: list[list[str]], stem: str) -> FileContent:
    utterances = []
    speaker: str | None = None
    for cue in cues:
        at = next((at for at, line in enumerate(cue[:2]) if "-->" in line), None)
        if at is None:
            raise RecordingError(f"no times of a cue near '{cue[0][:40]}'")
        span = _cue_span(cue[at])
        voice, named, words = _split_speaker(" ".join(cue[at + 1 :]).strip())
        speaker = voice or named or speaker
        if words:
            utterances.append(Utterance(span, speaker, words))
    return FileContent(utterances={stem: tuple(utterances)})


def _cue_span(line: str) -> TimeSpan:
    found = _TIMES.match(line)
    if found is None:
        raise RecordingError(f"'{line.strip()[:60]}' are no times of a cue")
    parts = found.groups()
    try:
        return span_of(_seconds(parts[:4]), _seconds(parts[4:]))
    except RecordingError as error:
        raise RecordingError(f"the cue at '{line.strip()}' {error}") from None


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds, fraction = parts
    assert fraction is not None
    whole_s = int(hours or 0) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    return float(f"{whole_s}.{fraction}")


def _split_speaker(text: str) -> tuple[str | None, str | None, str]:
    """Name in a voice tag, name before a colon, and the words."""
    voice = _VOICE.match(text)
    plain = html.unescape(_TAG.sub("", text)).strip()
    named = _NAMED.match(plain)
    return (
        html.unescape(voice[1].strip()) if voice else None,
        named[1] if named else None,
        plain[named.end() :].strip() if named else plain,
    )
