"""Rotary positions of a config.json: what can be meant, and what cannot."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.local_model import check_model_folder
from murmur_cli.models.rope_parameters import NEEDED, wrong_rope

DEFAULT = {"rope_type": "default", "rope_theta": 10_000.0}


@pytest.mark.parametrize(
    "rope",
    [
        None,
        {},
        DEFAULT,
        {"rope_type": "default"},
        {**DEFAULT, "mrope_section": [16, 24, 24], "type": "default"},
        {"type": "linear", "factor": 2, "rope_theta": 1_000_000},
        {"rope_type": "yarn", "factor": 4.0, "beta_fast": 32, "beta_slow": 1, "truncate": False},
        {**DEFAULT, "rope_type": "longrope", "short_factor": [1.0], "long_factor": [2, 3.5]},
        {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
        {
            "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25},
            "sliding_attention": DEFAULT,
            "other_attention": None,
        },
        {**DEFAULT, "attention_factor": None, "a_key_of_the_future": "x"},
    ],
)
@pytest.mark.parametrize("key", ["rope_parameters", "rope_scaling"])
def test_rope_when_it_can_be_meant_then_no_fault(key: str, rope: Any) -> None:
    assert wrong_rope({"text_config": {key: rope, "rope_theta": 10_000, "layers": 2}}) is None


@pytest.mark.parametrize(
    ("rope", "fault"),
    [
        ("x", "rope_parameters is 'x', where a table is due"),
        (5, "rope_parameters is 5, where a table is due"),
        ([], "rope_parameters is [], where a table is due"),
        (False, "rope_parameters is False, where a table is due"),
        ("y" * 99, f"rope_parameters is '{'y' * 38}…, where a table is due"),
        ({"rope_type": "wavy"}, "rope_parameters.rope_type is 'wavy'; known are default, linear"),
        ({"rope_type": 5}, "rope_parameters.rope_type is 5; known are default, linear"),
        ({"rope_type": None}, "rope_parameters.rope_type is None; known are"),
        ({"type": "su"}, "rope_parameters.rope_type is 'su'; known are"),
        ({**DEFAULT, "rope_theta": "x"}, "rope_theta is 'x', where a number above 0 is due"),
        ({**DEFAULT, "rope_theta": 0}, "rope_theta is 0, where a number above 0 is due"),
        ({**DEFAULT, "rope_theta": -3.5}, "rope_theta is -3.5, where a number above 0 is due"),
        ({**DEFAULT, "rope_theta": True}, "rope_theta is True, where a number above 0 is due"),
        ({**DEFAULT, "rope_theta": float("nan")}, "rope_theta is nan, where a number above 0 is"),
        ({**DEFAULT, "rope_theta": float("inf")}, "rope_theta is inf, where a number above 0 is"),
        ({"rope_type": "linear"}, "rope_parameters.factor is missing, which rope_type 'linear' n"),
        ({"rope_type": "yarn", "factor": [2]}, "rope_parameters.factor is [2], where a number"),
        (
            {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0},
            "rope_parameters.high_freq_factor is missing, which rope_type 'llama3' needs",
        ),
        (
            {"rope_type": "longrope", "short_factor": [], "long_factor": [1]},
            "rope_parameters.short_factor is [], where a list of numbers above 0 is due",
        ),
        ({**DEFAULT, "mrope_section": [8, "x"]}, "mrope_section is [8, 'x'], where a list of"),
        (
            {"full_attention": DEFAULT, "sliding_attention": {"rope_type": "wavy"}},
            "rope_parameters.sliding_attention.rope_type is 'wavy'; known are",
        ),
        (
            {"full_attention": DEFAULT, "sliding_attention": 3},
            "rope_parameters.sliding_attention is 3, where a table is due",
        ),
    ],
)
def test_rope_when_it_cannot_be_meant_then_its_key_and_value(rope: Any, fault: str) -> None:
    found = wrong_rope({"audio_config": {"rope_parameters": rope}}, "thinker_config.")
    assert found is not None
    assert found.startswith("thinker_config.audio_config.rope_parameters")
    assert fault in found


def test_theta_when_it_stands_alone_then_checked_too() -> None:
    assert wrong_rope({"text_config": {"rope_theta": None}}) is None
    fault = wrong_rope({"text_config": {"rope_theta": "many"}})
    assert fault == "text_config.rope_theta is 'many', where a number above 0 is due"


def test_rope_when_it_is_of_pictures_then_not_looked_at() -> None:
    assert wrong_rope({"vision_config": {"rope_parameters": {"rope_type": "axial"}}}) is None


@pytest.mark.filterwarnings("ignore")  # the library's own
def test_kinds_when_compared_with_the_library_then_the_same() -> None:
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    assert set(NEEDED) == {"default", *ROPE_INIT_FUNCTIONS}


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"model_type": "vibevoice_asr", "text_config": {"rope_parameters": "x"}}, ""),
        (
            {
                "model_type": "qwen2_5_omni",
                "thinker_config": {"text_config": {"rope_parameters": "x"}},
                "talker_config": {"rope_parameters": 5},
            },
            "thinker_config.",
        ),
    ],
    ids=["whole", "thinker"],
)
def test_folder_when_its_rope_is_malformed_then_one_line_with_file_and_key(
    config: dict[str, Any], place: str, tmp_path: Path
) -> None:
    for name in ("tokenizer.json", "model.safetensors"):
        (tmp_path / name).touch()
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    with pytest.raises(ModelError) as refused:
        check_model_folder("./mine", tmp_path)
    assert str(refused.value) == (
        f"./mine: {tmp_path / 'config.json'}: {place}text_config.rope_parameters is 'x', where a "
        "table is due; fetch it anew: murmur models pull"
    )
