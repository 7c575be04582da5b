import pytest

from murmur_cli.errors import UsageError
from murmur_cli.models import device as device_module
from murmur_cli.models.device import cuda_device_count, resolve_device, resolve_devices


def test_device_when_cpu_then_cpu() -> None:
    assert resolve_device("cpu") == "cpu"


def test_device_when_auto_then_first_cuda_device_or_cpu() -> None:
    assert resolve_device("auto") == ("cuda:0" if cuda_device_count() else "cpu")


@pytest.mark.parametrize("word", ["gpu", "cuda:", "cuda:x", "CPU", "", "cuda:-1"])
def test_device_when_word_is_unknown_then_usage_error(word: str) -> None:
    with pytest.raises(UsageError, match="give auto, cpu, cuda, cuda:N or balanced"):
        resolve_device(word)


def test_device_when_index_is_beyond_the_last_then_usage_error() -> None:
    with pytest.raises(UsageError, match="--device cuda:99: no CUDA device"):
        resolve_device("cuda:99")


def test_balanced_when_there_are_several_cuda_devices_then_it_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device_module, "cuda_device_count", lambda: 2)
    assert resolve_device("balanced") == "balanced"
    monkeypatch.setattr(device_module, "cuda_device_count", lambda: 1)
    with pytest.raises(UsageError, match="wants several CUDA devices, there are 1"):
        resolve_device("balanced")


def test_devices_when_numbers_then_cuda_and_none_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_module, "cuda_device_count", lambda: 2)
    assert resolve_devices(["0", "cuda:1"]) == ("cuda:0", "cuda:1")
    assert resolve_devices(["cpu", "cpu"]) == ("cpu", "cpu")
    with pytest.raises(UsageError, match="cuda:1 is named twice"):
        resolve_devices(["1", "cuda:1"])
    with pytest.raises(UsageError, match="--devices 0,2: no CUDA device 2, this machine has 2"):
        resolve_devices(["0", "2"])
    for names in ([""], ["0", ""], ["auto"], ["balanced", "0"]):
        with pytest.raises(UsageError, match="give numbers by commas"):
            resolve_devices(names)
