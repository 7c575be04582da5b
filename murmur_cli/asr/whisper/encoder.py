"""Whisper's encoder: audio of a window to the states that the decoder attends to."""

from __future__ import annotations

from typing import Any

import torch

from murmur_cli.asr.whisper.log_mel import LogMel
from murmur_cli.types import Samples

SAMPLES_PER_STATE = 320
"""The features have one frame per 160 samples, the second convolution keeps every other one."""


class WhisperEncoder:
    """The encoder of transformers with its features.

    Windows are encoded one at a time: on a CPU four together take 8 % longer, as their
    activations no longer fit its cache, and four times the memory.
    """

    def __init__(self, module: Any, state_dtype: torch.dtype) -> None:
        """`module` computes in the dtype of its weights; states are given as `state_dtype`."""
        config = module.config
        self.mel_bins: int = int(config.num_mel_bins)
        self.entries: int = int(config.max_source_positions)
        self.width: int = int(config.d_model)
        self._module = module
        self._state_dtype = state_dtype
        self._log_mel = LogMel(self.mel_bins, self.entries * SAMPLES_PER_STATE)

    def features(self, audio: Samples) -> torch.Tensor:
        """Log-mel features of a window, (mel bins, 2 * entries) float32, on the CPU."""
        return self._log_mel(audio)

    @torch.inference_mode()
    def states(self, features: torch.Tensor) -> torch.Tensor:
        """Encoder states of one window's features, (entries, width), on the model's device."""
        weight = self._module.layer_norm.weight
        inputs = features[None].to(weight.device, weight.dtype)
        states: torch.Tensor = self._module(inputs).last_hidden_state[0]
        return states.to(self._state_dtype)
