"""The model: Qwen3's decoder over frames that two convolutions have read.

The decoder is the class of transformers with its smallest useful sizes. What stands in for an
audio encoder sees four frames to each side, and adds a clock: where in the chunk a frame lies.
Whisper's and Qwen's audio encoders add such positions too; without them a model that knows only
distances between entries could not tell the time.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn

from nano.language import BEGIN, END, FRAMES_PER_S, PAD, VOCABULARY, WIDTH

HIDDEN = 192
KERNEL = 5
"""Frames that a convolution sees."""

CLOCK_PERIODS_S = (300, 150, 100, 75, 60, 50, 30, 20, 10, 5, 10 / 3, 2.5, 2, 10 / 6, 1)
"""Waves by which a moment is told: of the whole chunk, of ten seconds, and their overtones."""

MAX_POSITIONS = 8192

TEXT_CONFIG: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": HIDDEN,
    "intermediate_size": 576,
    "num_hidden_layers": 4,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": MAX_POSITIONS,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1e6},
    "tie_word_embeddings": False,
    "attention_dropout": 0.0,
    "pad_token_id": PAD,
    "bos_token_id": BEGIN,
    "eos_token_id": END,
}


class FrameReader(nn.Module):
    """Frames (batch, frames, WIDTH) -> speech embeddings (batch, frames, HIDDEN)."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv1d(WIDTH, HIDDEN, KERNEL, padding=KERNEL // 2)
        self.second = nn.Conv1d(HIDDEN, HIDDEN, KERNEL, padding=KERNEL // 2)
        self.out = nn.Linear(HIDDEN, HIDDEN)
        self.clock = nn.Linear(2 * len(CLOCK_PERIODS_S), HIDDEN, bias=False)

    def forward(self, frames: torch.Tensor, first_frame: torch.Tensor) -> torch.Tensor:
        """first_frame: (batch,) frame of the chunk at which each row begins."""
        heard = nn.functional.gelu(self.first(frames.transpose(1, 2)))
        heard = nn.functional.gelu(self.second(heard)).transpose(1, 2)
        places = first_frame[:, None] + torch.arange(frames.shape[1], device=frames.device)
        embedded: torch.Tensor = self.out(heard) + self.clock(clock_waves(places, frames.dtype))
        return embedded


def clock_waves(places: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Frame numbers (…) -> sines and cosines (…, 2 · periods)."""
    periods = torch.tensor(CLOCK_PERIODS_S, dtype=torch.float64, device=places.device)
    phase = places[..., None].double() * (2 * math.pi / FRAMES_PER_S) / periods
    return torch.cat([phase.sin(), phase.cos()], dim=-1).to(dtype)


def new_decoder() -> Any:
    """A Qwen3ForCausalLM with random weights."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    return Qwen3ForCausalLM(Qwen3Config(**TEXT_CONFIG))
