"""Tiny random models of the very classes that the SpeechLLM families wrap, made offline."""

from __future__ import annotations

from support.tiny_speech_llms.gemma4 import tiny_gemma4
from support.tiny_speech_llms.qwen3_asr import tiny_qwen3_asr
from support.tiny_speech_llms.tiny_family import TinyFamily
from support.tiny_speech_llms.vibevoice import tiny_vibevoice

TINY_FAMILIES = {
    "gemma4": tiny_gemma4,
    "qwen3_asr": tiny_qwen3_asr,
    "vibevoice": tiny_vibevoice,
}

__all__ = ["TINY_FAMILIES", "TinyFamily"]
