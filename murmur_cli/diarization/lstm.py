"""A stack of bidirectional LSTM layers as it runs: machine code where there is some, else torch.

torch's own (oneDNN's) works at half of the processor's peak on batches that fit the cores here;
the machine code reaches four fifths of it. Equal up to rounding.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from murmur_cli.diarization.lstm_code import (
    ARGUMENTS,
    ENTRY_POINT,
    GATES,
    lstm_module,
)
from murmur_cli.diarization.row_tiles import UNROLLED
from murmur_kernels.compiled import LANES
from murmur_kernels.compiled.machine_code import MachineCode, made_here

_ArgumentBlock = ctypes.c_int64 * len(ARGUMENTS)
_FLOAT_BYTES = 4


@functools.cache
def lstm_machine_code() -> MachineCode | None:
    """Made at the first call; None where it cannot be made."""
    return made_here(lstm_module, ENTRY_POINT)


@dataclass(frozen=True, slots=True)
class _Direction:
    """Parameters as `lstm_code` reads them."""

    weights: Tensor
    bias: Tensor
    inputs: int
    backward: bool


class LstmStack:
    """What a bidirectional `nn.LSTM` of batch-first sequences computes."""

    def __init__(self, network: nn.LSTM) -> None:
        """Take the parameters of a loaded network."""
        assert network.bidirectional, network
        assert network.batch_first, network
        self._network = network
        self._hidden = network.hidden_size
        self._code = lstm_machine_code()
        self._layers = [] if self._code is None else list(_packed(network))

    def __call__(self, features: Tensor) -> Tensor:
        """(batch, frames, inputs) float32 to (batch, frames, 2 hidden)."""
        if self._code is None:
            output: Tensor = self._network(features)[0]
            return output
        for layer in self._layers:
            features = self._run(self._code, layer, features)
        return features

    def _run(
        self, code: MachineCode, layer: tuple[_Direction, _Direction], features: Tensor
    ) -> Tensor:
        batch, frames, inputs = features.shape
        features = features.contiguous()
        output = features.new_empty(batch, frames, 2 * self._hidden)
        gates = features.new_empty(batch, GATES * LANES)
        for number, direction in enumerate(layer):
            assert inputs == direction.inputs, (inputs, direction.inputs)
            assert features.dtype == torch.float32, features.dtype
            cells = features.new_zeros(batch, self._hidden)
            first, sign = (frames - 1, -1) if direction.backward else (0, 1)
            own = output[:, first, number * self._hidden :]
            block = _ArgumentBlock(
                *(batch, frames, inputs, self._hidden),
                features[:, first].data_ptr(),
                *(_FLOAT_BYTES * stride for stride in (features.stride(0), sign * inputs)),
                own.data_ptr(),
                *(_FLOAT_BYTES * stride for stride in (output.stride(0), sign * output.stride(1))),
                *(direction.weights.data_ptr(), direction.bias.data_ptr()),
                *(cells.data_ptr(), gates.data_ptr()),
            )
            code.call(ctypes.addressof(block))
        return output


def _packed(network: nn.LSTM) -> Iterator[tuple[_Direction, _Direction]]:
    """The layers' parameters, forward and backward."""
    for layer in range(network.num_layers):
        forward, backward = (
            _direction(network, f"l{layer}{suffix}", backward=bool(suffix))
            for suffix in ("", "_reverse")
        )
        yield forward, backward


def _direction(network: nn.LSTM, name: str, *, backward: bool) -> _Direction:
    inputs: Tensor = getattr(network, f"weight_ih_{name}").detach()
    hidden: Tensor = getattr(network, f"weight_hh_{name}").detach()
    bias: Tensor = getattr(network, f"bias_ih_{name}") + getattr(network, f"bias_hh_{name}")
    blocks, num_inputs = hidden.shape[1] // LANES, inputs.shape[1]
    assert blocks * LANES == hidden.shape[1], hidden.shape
    assert num_inputs % UNROLLED == 0, num_inputs
    # Rows are (pair, gate of the pair, block of units, unit of the block).
    rows = torch.cat([inputs, hidden], dim=1).view(2, 2, blocks, LANES, -1)
    return _Direction(
        rows.permute(2, 0, 4, 1, 3).contiguous(),
        bias.detach().view(2, 2, blocks, LANES).permute(2, 0, 1, 3).contiguous(),
        num_inputs,
        backward,
    )
