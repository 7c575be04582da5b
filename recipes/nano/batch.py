"""Excerpts of meetings as rows of a training batch, each at the positions it has in a chunk.

A short excerpt is cheap to learn from, but at the positions 0, 1, 2, … it would teach nothing of
long distances. So an excerpt keeps the positions that it would have in a chunk of up to 300 s
of which everything else were cut out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from nano.language import ANSWER, BEGIN, MAX_FRAMES, PAD, TRANSCRIBE
from nano.meeting import CODE_FRAMES, Meeting, make_meeting

PROMPT = (BEGIN, TRANSCRIBE)
SUFFIX = (ANSWER,)

CODES_PER_FRAME = 3 / MAX_FRAMES
"""Mean; a chunk of 300 s holds about three."""

TOKENS_PER_FRAME = (0.3, 0.42)
"""Of the transcript: between which numbers an excerpt's past is drawn."""

WHOLE_SHARE = 0.3
"""Of the excerpts that stand for themselves: they begin at 0 and nothing is cut out."""


@dataclass(frozen=True, slots=True)
class Row:
    """A meeting and where it lies. Positions are of the tokens prompt | speech | suffix | output.

    The output holds all tokens but the end, which is only foretold.
    """

    meeting: Meeting
    positions: torch.Tensor


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows of the same number of frames; outputs are padded on the right, where nobody looks.

    Attributes:
        frames: (rows, frames, WIDTH)
        first_frame: (rows,)
        outputs: (rows, tokens), suffix and transcript, with the end token, then padding.
        positions: (rows, prompt + frames + tokens)
        looks: (rows, tokens - 1, 2) for each token but the first, from which frame of the excerpt
            to which it is heard, the end excluded; the same twice for the end and for padding.
    """

    frames: torch.Tensor
    first_frame: torch.Tensor
    outputs: torch.Tensor
    positions: torch.Tensor
    looks: torch.Tensor

    @classmethod
    def of(cls, rows: list[Row]) -> Batch:
        """The rows side by side."""
        longest = max(len(row.meeting.tokens) for row in rows) + len(SUFFIX)
        outputs = torch.full((len(rows), longest), PAD)
        positions = torch.zeros(
            (len(rows), rows[0].meeting.frames.shape[0] + len(PROMPT) + longest)
        )
        positions = positions.long()
        looks = torch.zeros((len(rows), longest - 1, 2), dtype=torch.long)
        for number, row in enumerate(rows):
            tokens = (*SUFFIX, *row.meeting.tokens)
            outputs[number, : len(tokens)] = torch.tensor(tokens)
            positions[number, : len(row.positions)] = row.positions
            spans = [span for part in row.meeting.parts for span in part.token_spans]
            if spans:
                looks[number, : len(spans)] = torch.tensor(spans) - row.meeting.first_frame
        return cls(
            torch.from_numpy(np.stack([row.meeting.frames for row in rows])),
            torch.tensor([row.meeting.first_frame for row in rows]),
            outputs,
            positions,
            looks,
        )


def make_row(seed: int, frames: int) -> Row:
    """An excerpt of so many frames, anywhere in a chunk."""
    random = np.random.default_rng([seed, 1])
    codes = min(int(random.poisson(CODES_PER_FRAME * frames)), frames // CODE_FRAMES)
    is_whole = frames == MAX_FRAMES or random.random() < WHOLE_SHARE
    first = 0 if is_whole else int(random.integers(MAX_FRAMES - frames + 1))
    meeting = make_meeting(seed, frames, first_frame=first, codes=codes)
    chunk = frames if is_whole else int(random.integers(first + frames, MAX_FRAMES + 1))
    past = round(first * random.uniform(*TOKENS_PER_FRAME))
    return Row(meeting, row_positions(meeting, chunk, past))


def row_positions(meeting: Meeting, chunk_frames: int, past_tokens: int) -> torch.Tensor:
    """Positions in a chunk of so many frames, after so many tokens of its transcript."""
    speech = len(PROMPT) + meeting.first_frame
    suffix = len(PROMPT) + chunk_frames
    output = suffix + len(SUFFIX) + past_tokens
    return torch.cat(
        [
            torch.arange(len(PROMPT)),
            torch.arange(speech, speech + meeting.frames.shape[0]),
            torch.arange(suffix, suffix + len(SUFFIX)),
            torch.arange(output, output + len(meeting.tokens)),
        ]
    )
