"""Weights from a folder: all of them, or an error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import Qwen2Config, Qwen2ForCausalLM

from murmur_cli.asr.speech_llm.pretrained import pretrained

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations


@pytest.fixture
def model(tmp_path: Path) -> Qwen2ForCausalLM:
    """A tiny model, saved to `tmp_path`; its head is tied to its embeddings."""
    config = Qwen2Config(
        vocab_size=16,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        tie_word_embeddings=True,
    )
    model = Qwen2ForCausalLM(config)
    model.save_pretrained(tmp_path)
    return model


def test_a_whole_folder_gives_its_weights_in_the_wanted_format(
    tmp_path: Path, model: Qwen2ForCausalLM
) -> None:
    loaded = pretrained(Qwen2ForCausalLM, tmp_path, dtype=torch.bfloat16, device_map="cpu")
    assert not loaded.training
    for name, weight in model.state_dict().items():
        assert torch.equal(loaded.state_dict()[name], weight.bfloat16()), name


def test_a_folder_that_lacks_a_weight_is_an_error(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    weights = load_file(tmp_path / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match=r"1 weights are not in the folder.*model\.norm\.weight"):
        pretrained(Qwen2ForCausalLM, tmp_path, dtype=torch.float32, device_map="cpu")


def test_a_weight_of_another_shape_is_an_error_with_its_name(
    tmp_path: Path, model: Qwen2ForCausalLM
) -> None:
    weights = load_file(tmp_path / "model.safetensors")
    weights["model.norm.weight"] = torch.zeros(9)
    save_file(weights, tmp_path / "model.safetensors", metadata={"format": "pt"})
    line = r"1 weights are of another shape .*model\.norm\.weight: \(9,\) in the file, \(8,\) desc"
    with pytest.raises(ValueError, match=line):
        pretrained(Qwen2ForCausalLM, tmp_path, dtype=torch.float32, device_map="cpu")


def test_weights_of_whole_numbers_are_an_error(tmp_path: Path, model: Qwen2ForCausalLM) -> None:
    weights = load_file(tmp_path / "model.safetensors")
    whole = {name: weight.int() for name, weight in weights.items()}
    save_file(whole, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ValueError, match="its weights are whole numbers"):
        pretrained(Qwen2ForCausalLM, tmp_path, dtype=torch.float32, device_map="cpu")


def test_a_configuration_of_a_larger_model_is_an_error_before_memory_is_taken(
    tmp_path: Path, model: Qwen2ForCausalLM
) -> None:
    config = json.loads((tmp_path / "config.json").read_text())
    # Nine trillion numbers in each matrix of a layer: no machine has memory for one.
    sizes = {"intermediate_size": 1 << 40, "num_hidden_layers": 1}
    (tmp_path / "config.json").write_text(json.dumps({**config, **sizes}))
    with pytest.raises(ValueError, match=r"a model of [\d,]+ parameters, its files hold 552$"):
        pretrained(Qwen2ForCausalLM, tmp_path, dtype=torch.float32, device_map="cpu")
