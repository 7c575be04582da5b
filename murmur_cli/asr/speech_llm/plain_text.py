"""Outputs that are nothing but text: no speakers, no times."""

from __future__ import annotations

from murmur_cli.asr.speech_llm.family import SpokenOutput, SpokenSegment


def plain_text(
    text: str, *, is_cut: bool, language: str | None = None, unreadable: str = ""
) -> SpokenOutput:
    """One segment with the text; none where there is no text.

    is_cut: the output did not end by itself.
    """
    text = text.strip()
    segments = (SpokenSegment(text),) if text else ()
    return SpokenOutput(segments, not is_cut, unreadable, language)
