"""`model_type` of a model folder -> its family, whose module loads when it is asked for."""

from __future__ import annotations

from importlib import import_module

from murmur_cli.asr.speech_llm.family import SpeechLlm

_FAMILIES = {
    "gemma4": ("gemma4", "Gemma4"),
    "granite_speech": ("granite_speech", "GraniteSpeech"),
    "qwen2_5_omni": ("qwen2_5_omni", "Qwen2_5Omni"),
    "qwen3_asr": ("qwen3_asr", "Qwen3Asr"),
    "qwen3_omni_moe": ("qwen3_omni", "Qwen3Omni"),
    "vibevoice_asr": ("vibevoice", "VibeVoice"),
    "voxtral": ("voxtral", "Voxtral"),
}


def family_of(model_type: str) -> type[SpeechLlm]:
    """The family for a `model_type` of `models.local_model.SPEECH_LLM_TYPES`."""
    module, name = _FAMILIES[model_type]
    family: type[SpeechLlm] = getattr(
        import_module(f"murmur_cli.asr.speech_llm.families.{module}"), name
    )
    assert family.traits.model_type == model_type, (family, model_type)
    return family
