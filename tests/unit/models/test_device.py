import pytest

from murmur_cli.errors import UsageError
from murmur_cli.models.device import cuda_device_count, resolve_device


def test_device_when_cpu_then_cpu() -> None:
    assert resolve_device("cpu") == "cpu"


def test_device_when_auto_then_first_cuda_device_or_cpu() -> None:
    assert resolve_device("auto") == ("cuda:0" if cuda_device_count() else "cpu")


@pytest.mark.parametrize("word", ["gpu", "cuda:", "cuda:x", "CPU", "", "cuda:-1"])
def test_device_when_word_is_unknown_then_usage_error(word: str) -> None:
    with pytest.raises(UsageError, match="give auto, cpu, cuda or cuda:N"):
        resolve_device(word)


def test_device_when_index_is_beyond_the_last_then_usage_error() -> None:
    with pytest.raises(UsageError, match="--device cuda:99: no such CUDA device"):
        resolve_device("cuda:99")
