"""Tiny random models of the very classes that the SpeechLLM families wrap, made offline."""

from __future__ import annotations

from support.tiny_speech_llms.gemma4 import tiny_gemma4
from support.tiny_speech_llms.granite_speech import tiny_granite_speech
from support.tiny_speech_llms.qwen2_5_omni import tiny_qwen2_5_omni
from support.tiny_speech_llms.qwen3_asr import tiny_qwen3_asr
from support.tiny_speech_llms.qwen3_omni import tiny_qwen3_omni
from support.tiny_speech_llms.tiny_family import TinyFamily
from support.tiny_speech_llms.vibevoice import tiny_vibevoice
from support.tiny_speech_llms.voxtral import tiny_voxtral

TINY_FAMILIES = {
    "gemma4": tiny_gemma4,
    "granite_speech": tiny_granite_speech,
    "qwen2_5_omni": tiny_qwen2_5_omni,
    "qwen3_asr": tiny_qwen3_asr,
    "qwen3_omni": tiny_qwen3_omni,
    "vibevoice": tiny_vibevoice,
    "voxtral": tiny_voxtral,
}

__all__ = ["TINY_FAMILIES", "TinyFamily"]
