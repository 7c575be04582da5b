"""`relu(convolution + added)` of the head: machine code where there is some, else torch."""

from __future__ import annotations

import ctypes
import functools

import torch
import torch.nn.functional as F
from torch import Tensor

from murmur_cli.diarization.convolution_code import (
    ARGUMENTS,
    BANDS,
    CHANNELS,
    ENTRY_POINT,
    convolution_module,
)
from murmur_cli.diarization.folding import Affine
from murmur_cli.diarization.row_tiles import PAIR
from murmur_cli.diarization.winograd import POINTS, TAPS
from murmur_kernels.compiled.machine_code import MachineCode, made_here

_ArgumentBlock = ctypes.c_int64 * len(ARGUMENTS)
_BAND_BYTES = 4 * CHANNELS


@functools.cache
def convolution_machine_code() -> MachineCode | None:
    """Made at the first call; None where it cannot be made."""
    return made_here(convolution_module, ENTRY_POINT)


class ReluConvolution:
    """3x3, 32 to 32 channels, padded by 1, over (time, mel) of channels-last images."""

    def __init__(self, affine: Affine, mel_step: int) -> None:
        """Transform the weights.

        Args:
            affine: weight (32, 32, 3 frames, 3 bands) and bias.
            mel_step: stride over mel.
        """
        assert affine.weight.shape == (CHANNELS, CHANNELS, len(TAPS[0]), BANDS), affine.weight.shape
        self._affine = affine
        self._mel_step = mel_step
        self._code = convolution_machine_code()
        taps = torch.tensor(TAPS, dtype=torch.float64)
        # (point, half of the outputs, band, channel, output)
        points = torch.einsum("pt,octb->pbco", taps, affine.weight.double())
        halves = points.view(*points.shape[:3], CHANNELS // PAIR, PAIR).permute(0, 3, 1, 2, 4)
        self._weights = halves.float().contiguous()

    def __call__(self, image: Tensor, added: Tensor | None = None) -> Tensor:
        """(batch, 32, frames, bands) to (batch, 32, frames, bands / step), float32."""
        if self._code is None:
            return self._by_torch(image, added)
        batch, _, frames, bands = image.shape
        output_bands = (bands - 1) // self._mel_step + 1
        output = image.new_empty(batch, frames, output_bands, CHANNELS).permute(0, 3, 1, 2)
        for tensor in (image,) if added is None else (image, added):
            assert tensor.dtype == torch.float32, tensor.dtype
            assert tensor.is_contiguous(memory_format=torch.channels_last), tensor.stride()
        blank, spill = image.new_zeros(bands, CHANNELS), image.new_empty(output_bands, CHANNELS)
        inputs = image.new_zeros(POINTS, bands + 2, CHANNELS)
        products = image.new_empty(POINTS, output_bands, CHANNELS)
        block = _ArgumentBlock(
            *(batch, frames, bands, self._mel_step, output_bands),
            *(image.data_ptr(), output.data_ptr()),
            *((blank.data_ptr(), 0) if added is None else (added.data_ptr(), _bytes(output_bands))),
            *(self._weights.data_ptr(), self._affine.bias.data_ptr()),
            *(blank.data_ptr(), spill.data_ptr(), inputs.data_ptr(), products.data_ptr()),
        )
        self._code.call(ctypes.addressof(block))
        return output

    def _by_torch(self, image: Tensor, added: Tensor | None) -> Tensor:
        affine = self._affine
        found = F.conv2d(image, affine.weight, affine.bias, (1, self._mel_step), padding=1)
        return (found if added is None else found.add_(added)).relu_()


def _bytes(bands: int) -> int:
    return _BAND_BYTES * bands
