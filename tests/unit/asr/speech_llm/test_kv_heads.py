"""KV heads of a SpeechLLM from its folder's configuration, as the loaded model has them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from murmur_cli.asr.registry import check_request
from murmur_cli.asr.speech_llm.loading import kv_heads_in
from murmur_cli.errors import ModelError, UsageError
from murmur_cli.models.choice import ModelChoice, ModelKind
from murmur_cli.settings import TranscribeSettings
from support.tiny_speech_llms.gemma4 import gemma4_of, tiny_gemma4
from support.tiny_speech_llms.granite_speech import tiny_granite_speech
from support.tiny_speech_llms.qwen2_5_omni import tiny_qwen2_5_omni
from support.tiny_speech_llms.qwen3_asr import tiny_qwen3_asr
from support.tiny_speech_llms.qwen3_omni import tiny_qwen3_omni
from support.tiny_speech_llms.tiny_family import TinyFamily
from support.tiny_speech_llms.vibevoice import tiny_vibevoice
from support.tiny_speech_llms.voxtral import tiny_voxtral

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

MAKERS = (
    tiny_gemma4,
    tiny_granite_speech,
    tiny_qwen2_5_omni,
    tiny_qwen3_asr,
    tiny_qwen3_omni,
    tiny_vibevoice,
    tiny_voxtral,
)


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_heads_when_read_from_the_folder_then_those_of_the_model(
    make: Callable[[], TinyFamily], tmp_path: Path
) -> None:
    family = make().family
    family.model.config.save_pretrained(tmp_path)
    layers = family.layers
    assert kv_heads_in(tmp_path, family.traits.model_type) == tuple(
        0 if layer.slides or layer.producer is not None else layer.kv_heads for layer in layers
    )
    assert len(layers) == len(family.text_model.layers)


def test_heads_when_layers_slide_or_share_then_they_have_none(tmp_path: Path) -> None:
    modes = ["sliding_attention", "full_attention", "sliding_attention", "full_attention"]
    gemma = gemma4_of(modes, shared=2, window=8).family
    gemma.model.config.save_pretrained(tmp_path)
    first, second, third, fourth = kv_heads_in(tmp_path, "gemma4")
    assert (first, third, fourth) == (0, 0, 0)
    assert second > 0


def choice_of(folder: Path) -> ModelChoice:
    return ModelChoice("./mine", ModelKind.FOLDER, folder, "a test", "vibevoice_asr")


def test_request_when_shares_are_of_another_model_then_usage_error_before_weights(
    tmp_path: Path,
) -> None:
    family = tiny_vibevoice().family
    family.model.config.save_pretrained(tmp_path)
    heads = kv_heads_in(tmp_path, "vibevoice_asr")
    right = ";".join(",".join(["0.5"] * number) for number in heads)
    check_request(choice_of(tmp_path), TranscribeSettings(evict="c3r", kv_budget=right))
    wrong = f"{right};0.5"
    with pytest.raises(UsageError, match=f"and the model has {len(heads)} layers of"):
        check_request(choice_of(tmp_path), TranscribeSettings(evict="c3r", kv_budget=wrong))


def test_heads_when_the_configuration_is_no_such_models_then_model_error(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "vibevoice_asr", "text_config": 5}')
    with pytest.raises(ModelError, match=f"model folder {tmp_path}: cannot load as VibeVoice-ASR"):
        kv_heads_in(tmp_path, "vibevoice_asr")
