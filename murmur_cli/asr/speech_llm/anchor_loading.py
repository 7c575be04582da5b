"""The recogniser whose words are anchors of VoxZip's first stage."""

from __future__ import annotations

from murmur_cli.asr.speech_llm.anchors import AnchorRecogniser
from murmur_cli.asr.whisper.loading import load_whisper
from murmur_cli.asr.whisper.session import WhisperOptions
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.errors import ModelError
from murmur_cli.models.choice import ModelChoice, choose_model, prepare
from murmur_cli.models.device import BALANCED
from murmur_cli.settings import DEFAULT_BATCH_SIZE


def choose_anchor_model(rule: VoxZip, device: str) -> ModelChoice:
    """The Whisper that the rule names; looks for its files only.

    device: of the SpeechLLM, as for `load_anchor_recogniser`.

    Raises:
        ModelError: there is no such model, or it is no Whisper.
    """
    try:
        choice = choose_model(rule.anchor_model, _place(device))
    except ModelError as error:
        reason = str(error).removeprefix(f"--model {rule.anchor_model}: ")
        reason = reason.removeprefix(f"{rule.anchor_model}: ")
        raise ModelError(f"--evict-opt anchor_model={rule.anchor_model}: {reason}") from error
    if not choice.is_whisper:
        raise ModelError(
            f"--evict-opt anchor_model={rule.anchor_model}: anchors come from a Whisper, such as "
            "whisper-base"
        )
    return choice


def load_anchor_recogniser(rule: VoxZip, device: str, language: str | None) -> AnchorRecogniser:
    """The Whisper that the rule names, on the device of the SpeechLLM.

    Args:
        rule: which model, and how sure it must be of a word.
        device: 'balanced' puts it on the first CUDA device.
        language: code, None to detect it.

    Raises:
        ModelError: there is no such model, or it is no Whisper.
    """
    folder = prepare(choose_anchor_model(rule, device))
    backend = load_whisper(
        folder.path,
        folder.identity,
        device=_place(device),
        evict="none",
        evict_options={},
        options=WhisperOptions(language, "transcribe", DEFAULT_BATCH_SIZE),
    )
    return AnchorRecogniser(backend, rule.confidence)


def _place(device: str) -> str:
    return "cuda:0" if device == BALANCED else device
