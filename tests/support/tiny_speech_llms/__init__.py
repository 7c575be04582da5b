"""Tiny random models of the very classes that the SpeechLLM families wrap, made offline."""

from __future__ import annotations

from support.tiny_speech_llms.tiny_family import TinyFamily
from support.tiny_speech_llms.vibevoice import tiny_vibevoice

TINY_FAMILIES = {"vibevoice": tiny_vibevoice}

__all__ = ["TINY_FAMILIES", "TinyFamily"]
