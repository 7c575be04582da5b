"""`model_type` of a model folder -> its family, whose module loads when it is asked for."""

from __future__ import annotations

from importlib import import_module

from murmur_cli.asr.speech_llm.family import SpeechLlm

_FAMILIES = {
    "gemma4": ("gemma4", "Gemma4"),
    "qwen3_asr": ("qwen3_asr", "Qwen3Asr"),
    "vibevoice_asr": ("vibevoice", "VibeVoice"),
}


def family_of(model_type: str) -> type[SpeechLlm]:
    """The family for a `model_type` of `models.local_model.SPEECH_LLM_TYPES`."""
    module, name = _FAMILIES[model_type]
    family: type[SpeechLlm] = getattr(
        import_module(f"murmur_cli.asr.speech_llm.families.{module}"), name
    )
    assert family.traits.model_type == model_type, (family, model_type)
    return family
