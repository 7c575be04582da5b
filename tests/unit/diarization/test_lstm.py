"""The LSTM layers as they run against torch's own in float64."""

import pytest
import torch
from torch import nn

from murmur_cli.diarization import lstm
from murmur_cli.diarization.lstm import LstmStack


def _network(inputs: int, hidden: int, layers: int, scale: float = 0.3) -> nn.LSTM:
    torch.manual_seed(inputs + hidden)
    network = nn.LSTM(inputs, hidden, layers, bidirectional=True, batch_first=True)
    for parameter in network.parameters():
        nn.init.normal_(parameter, 0.0, scale)
    return network.requires_grad_(False)


def _exact(network: nn.LSTM, features: torch.Tensor) -> torch.Tensor:
    exact = nn.LSTM(
        network.input_size,
        network.hidden_size,
        network.num_layers,
        bidirectional=True,
        batch_first=True,
        dtype=torch.float64,
    )
    exact.load_state_dict(network.state_dict())
    with torch.no_grad():
        output: torch.Tensor = exact(features.double())[0]
    return output


@pytest.mark.parametrize("batch", [*range(1, 8), 13, 16])
def test_stack_when_any_batch_then_equal_to_torch_in_float64(batch: int) -> None:
    network = _network(12, 16, layers=2)
    features = torch.randn(batch, 9, 12)
    found = LstmStack(network)(features)
    assert found.shape == (batch, 9, 32)
    torch.testing.assert_close(found.double(), _exact(network, features), atol=2e-6, rtol=0)


def test_stack_when_the_size_of_the_checkpoint_then_equal_to_torch_in_float64() -> None:
    network = _network(60, 128, layers=4, scale=0.1)
    features = torch.randn(3, 50, 60)
    torch.testing.assert_close(
        LstmStack(network)(features).double(), _exact(network, features), atol=1e-5, rtol=0
    )


def test_stack_when_gates_saturate_then_equal_to_torch_in_float64() -> None:
    network = _network(8, 8, layers=1, scale=1.0)
    features = torch.randn(2, 6, 8) * torch.tensor([1.0, 1e3])[:, None, None]
    torch.testing.assert_close(
        LstmStack(network)(features).double(), _exact(network, features), atol=2e-6, rtol=0
    )


def test_stack_when_one_frame_then_nothing_is_read_before_it() -> None:
    network = _network(4, 8, layers=1)
    features = torch.randn(2, 1, 4)
    torch.testing.assert_close(
        LstmStack(network)(features).double(), _exact(network, features), atol=2e-6, rtol=0
    )


def test_stack_when_a_sequence_is_alone_then_bits_are_those_in_a_batch() -> None:
    stack = LstmStack(_network(12, 16, layers=2))
    features = torch.randn(7, 9, 12)
    together = stack(features)
    if lstm.lstm_machine_code() is None:
        pytest.skip("torch's own sums depend on the batch")
    for row in range(7):
        assert torch.equal(stack(features[row : row + 1]), together[row : row + 1])


def test_stack_when_no_machine_code_then_torch_computes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lstm, "lstm_machine_code", lambda: None)
    network = _network(12, 16, layers=2)
    features = torch.randn(3, 5, 12)
    assert torch.equal(LstmStack(network)(features), network(features)[0])
