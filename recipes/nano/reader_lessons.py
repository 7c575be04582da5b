"""Teaches the FrameReader alone what each frame says, before the decoder listens to it.

A SpeechLLM's audio encoder has learned to hear before it meets the text model; so has this one,
in half a minute. Afterwards it is trained on together with the decoder.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import nn

from nano.language import FRAMES_PER_S, MAX_FRAMES, VOICES, language
from nano.meeting import Meeting, make_meeting
from nano.model import HIDDEN, FrameReader

STEPS = 500
ROWS, FRAMES = 8, 250
RATE, WARM_STEPS = 3e-3, 20


def teach_reader(reader: FrameReader, seed: int) -> Iterator[tuple[int, float]]:
    """Train in place; the share of frames whose word is not recognised, every 20 steps.

    seed: of the first meeting; each step takes ROWS more.
    """
    heads = nn.ModuleList(nn.Linear(HIDDEN, answers) for answers in _ANSWERS)
    parameters = [*reader.parameters(), *heads.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(STEPS):
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_STEPS) * (1.0 - step / STEPS)
        meetings = [_lesson(seed + step * ROWS + row) for row in range(ROWS)]
        frames = torch.from_numpy(np.stack([meeting.frames for meeting in meetings]))
        firsts = torch.tensor([meeting.first_frame for meeting in meetings])
        answers = torch.from_numpy(np.stack([frame_answers(meeting) for meeting in meetings]))
        heard = nn.functional.rms_norm(reader(frames, firsts), (HIDDEN,))
        guesses = [head(heard) for head in heads]
        losses = [
            nn.functional.cross_entropy(guess.flatten(0, 1), answers[..., number].flatten())
            for number, guess in enumerate(guesses)
        ]
        optimizer.zero_grad()
        torch.stack(losses).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if step % 20 == 0 or step == STEPS - 1:
            yield step, float((guesses[0].argmax(-1) != answers[..., 0]).float().mean())


_ANSWERS = (
    len(language().words) + 1,
    len(language().words) + 1,
    VOICES + 1,
    round(MAX_FRAMES / FRAMES_PER_S / 10),
    10,
)
"""Possible answers to: which word, after which word, whose voice, which ten seconds, second."""


def frame_answers(meeting: Meeting) -> np.ndarray:
    """(frames, 5) int64: word, word before it in the part, voice; 0 in silence; tens, seconds."""
    frames = len(meeting.frames)
    answers = np.zeros((frames, len(_ANSWERS)), dtype=np.int64)
    for part in meeting.parts:
        before = 0
        for word, (start, end) in zip(part.words, part.spans, strict=True):
            place = slice(start - meeting.first_frame, end - meeting.first_frame)
            answers[place, :3] = (word + 1, before, part.voice + 1)
            before = word + 1
    seconds = ((meeting.first_frame + np.arange(frames)) / FRAMES_PER_S).astype(np.int64)
    answers[:, 3], answers[:, 4] = seconds // 10, seconds % 10
    return answers


def _lesson(seed: int) -> Meeting:
    first = int(np.random.default_rng([seed, 2]).integers(MAX_FRAMES - FRAMES + 1))
    return make_meeting(seed, FRAMES, first_frame=first, codes=seed % 2)
