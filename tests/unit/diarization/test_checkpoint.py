import os
import pickle
from pathlib import Path

import pytest
import torch

from murmur_cli.diarization.checkpoint import load_network, load_state
from murmur_cli.errors import ModelError


class _Payload:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch should-not-exist",)


def test_load_state_when_plain_or_nested_then_tensors(tmp_path: Path) -> None:
    for name, content in (
        ("plain", {"w": torch.ones(2)}),
        ("nested", {"state_dict": {"w": torch.ones(2)}, "epoch": 3}),
    ):
        torch.save(content, tmp_path / name)
        assert load_state(tmp_path / name)["w"].tolist() == [1.0, 1.0]


def test_load_state_when_pickle_holds_code_then_refused_and_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    torch.save({"w": torch.ones(1), "x": _Payload()}, tmp_path / "evil.bin")
    with pytest.raises(ModelError, match=r"evil\.bin cannot be read"):
        load_state(tmp_path / "evil.bin")
    assert not (tmp_path / "should-not-exist").exists()


@pytest.mark.parametrize("content", [b"", b"junk", pickle.dumps({"a": 1}, protocol=2)])
def test_load_state_when_file_is_damaged_then_one_plain_line(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(content)
    with pytest.raises(ModelError) as caught:
        load_state(path)
    assert "\n" not in str(caught.value)


def test_load_state_when_missing_then_model_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"absent\.bin"):
        load_state(tmp_path / "absent.bin")


def test_load_network_when_weights_belong_to_another_then_model_error(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 3).state_dict(), tmp_path / "other.bin")
    with pytest.raises(ModelError, match="not those of Linear"):
        load_network(torch.nn.Linear(3, 2), tmp_path / "other.bin")


def test_load_network_when_weights_fit_then_ready_for_inference(tmp_path: Path) -> None:
    source, target = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
    torch.save(source.state_dict(), tmp_path / "own.bin")
    load_network(target, tmp_path / "own.bin")
    assert torch.equal(source.weight, target.weight)
    assert not target.training
    assert not any(parameter.requires_grad for parameter in target.parameters())
