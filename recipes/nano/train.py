"""Trains the nano model on one core: `make nano`.

Each stage takes excerpts of given lengths and ends when the running error is low enough, or after
so many steps. Every meeting is new to the model, so the errors on the way are those of held-out
data, but with the right past (or nearly, see `Stage.slips`). What it takes to go on after a break
lies in STATE until the end.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from murmur_cli.asr.speech_llm.arena_attention import ARENA_ATTENTION, register_arena_attention
from nano.batch import PROMPT, Batch, make_row
from nano.family import CHECKPOINT, Nano
from nano.language import MAX_FRAMES, PAD, WORD_BASE, language
from nano.model import FrameReader, new_decoder
from nano.muon import Muon
from nano.reader_lessons import ROWS as READER_ROWS
from nano.reader_lessons import STEPS as READER_STEPS
from nano.reader_lessons import teach_reader

SEED = 1
FIRST_TRAINING_SEED = 1_000_000
"""Of meetings; those that judge the model have smaller ones."""

LOG = Path(__file__).parent / "training_log.csv"
LOG_COLUMNS = (
    "stage",
    "frames",
    "step",
    "cpu_s",
    "loss",
    "error",
    "running_error",
    "rate",
    "straying",
)
LogRow = tuple[str | float, ...]
"""Values of LOG_COLUMNS."""

STATE = Path("build/nano/state.pt")
PLACE = ("stage", "step", "steps", "seed", "cpu_s", "running_error")
"""Attributes of a Training beside its weights."""

SAVE_EVERY_S = 120.0
MIN_STEPS = 20
"""Of a stage, so that its running error is one."""

WARM_STEPS = 50
GUIDED_HEADS = ((1, 0), (2, 3), (3, 0))
"""(layer, query head), of different KV heads, that are taught to look at the next token's frames.

Shown, they do so on short excerpts within a hundred steps. The other heads are free.
"""

GUIDANCE = 0.5
"""Weight beside the loss of the tokens."""

MAX_NORM = 1.0


@dataclass(frozen=True, slots=True)
class Stage:
    """Excerpts of one length, or of several in random order.

    Attributes:
        shapes: frames of an excerpt, and rows of a batch of these; one is drawn for each step.
        until: running share of wrong tokens at which the stage ends.
        steps: at most.
        rate: learning rate.
        end_rate: what it falls to, evenly, over all steps.
        slips: share of the words of the past that are replaced by any other. A model that has
            only seen the right past does not find back after its own first error.
    """

    shapes: tuple[tuple[int, int], ...]
    until: float
    steps: int
    rate: float = 2e-3
    end_rate: float = 2e-3
    slips: float = 0.0


STAGES = (
    Stage(((24, 32),), 0.10, 600),
    Stage(((48, 24),), 0.07, 300),
    Stage(((96, 12),), 0.05, 300),
    Stage(((200, 8),), 0.04, 300),
    Stage(((450, 4),), 0.03, 300),
    Stage(((1000, 2),), 0.025, 350),
    Stage(((MAX_FRAMES, 1),), 0.0, 700, 2e-3, 2e-5),
    Stage(((100, 16), (300, 6), (1000, 2), (MAX_FRAMES, 1)), 0.0, 800, 1.5e-3, 2e-5, slips=0.03),
)


class CausalPass:
    """The engine's attention for training: each token attends to itself and those before.

    Guides GUIDED_HEADS: `straying` gets, for each, the mean of -log of the probability that it
    gives to the frames which the next token is heard from.

    Args:
        looks: these frames, see `Batch`.
    """

    def __init__(self, looks: torch.Tensor) -> None:
        self._looks = looks
        self.straying: list[torch.Tensor] = []

    def attend(
        self,
        layer: int,
        shares: bool,
        query: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
        scale: float,
        window: int | None,
    ) -> torch.Tensor:
        """Mix (batch, tokens, heads, head_dim), see `arena_attention.ArenaPass`."""
        for guided_layer, head in GUIDED_HEADS:
            if guided_layer == layer:
                of_head = keys[:, head * keys.shape[1] // query.shape[1]]
                self.straying.append(self._straying(query[:, head] * scale, of_head))
        mixed = nn.functional.scaled_dot_product_attention(
            query, keys, values, is_causal=True, scale=scale, enable_gqa=True
        )
        return mixed.transpose(1, 2)

    def _straying(self, query: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """query, keys: (rows, tokens, head_dim)"""
        steps = self._looks.shape[1]
        scores = query[:, -steps:] @ keys.transpose(1, 2)
        later = torch.ones(steps, steps, dtype=torch.bool).triu(1)
        scores[:, :, -steps:] = scores[:, :, -steps:].masked_fill(later, -torch.inf)
        speech = slice(len(PROMPT), keys.shape[1] - steps)
        seen = torch.softmax(scores, dim=-1)[:, :, speech]
        frames = torch.arange(seen.shape[2])
        start, end = self._looks[..., :1], self._looks[..., 1:]
        mass = (seen * ((start <= frames) & (frames < end))).sum(dim=-1)
        return -mass[start[..., 0] < end[..., 0]].clamp(min=1e-6).log().mean()


def with_slips(known: torch.Tensor, share: float, random: np.random.Generator) -> torch.Tensor:
    """The past (rows, tokens) with this share of its words replaced by any other."""
    words = len(language().words)
    slips = torch.from_numpy(random.random(known.shape) < share) & (known >= WORD_BASE)
    others = torch.from_numpy(random.integers(WORD_BASE, WORD_BASE + words, known.shape))
    return torch.where(slips, others, known)


def output_scores(
    reader: FrameReader, decoder: Any, batch: Batch, known: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Scores (rows, tokens, vocabulary) of the token after each of `known`.

    And how far the guided heads stray, the mean over them.

    known: (rows, tokens) the past: `outputs` but the last, perhaps with slips.
    """
    embed = decoder.get_input_embeddings()
    embedded = torch.cat(
        [
            embed(torch.tensor(PROMPT)).expand(len(known), -1, -1),
            reader(batch.frames, batch.first_frame),
            embed(known),
        ],
        dim=1,
    )
    attention = CausalPass(batch.looks)
    hidden = decoder.model(
        inputs_embeds=embedded,
        position_ids=batch.positions[:, :-1],
        use_cache=False,
        arena=attention,
    ).last_hidden_state
    scores: torch.Tensor = decoder.lm_head(hidden[:, -known.shape[1] :])
    return scores, torch.stack(attention.straying).mean()


class Training:
    """Model, optimizers and place in the stages."""

    def __init__(self) -> None:
        torch.manual_seed(SEED)
        register_arena_attention()
        self.reader, self.decoder = FrameReader(), new_decoder()
        self.decoder.set_attn_implementation(ARENA_ATTENTION)
        matrices = [weight for weight in self.decoder.model.layers.parameters() if weight.ndim == 2]
        chosen = {id(matrix) for matrix in matrices}
        self.parameters = [*self.reader.parameters(), *self.decoder.parameters()]
        rest = [weight for weight in self.parameters if id(weight) not in chosen]
        self.optimizers = (
            Muon(matrices, lr=0.0),
            torch.optim.AdamW(rest, lr=0.0, betas=(0.9, 0.95), weight_decay=0.0),
        )
        self.stage = -1
        """-1 while the reader is taught alone."""
        self.step = 0
        self.steps = 0
        self.seed = FIRST_TRAINING_SEED
        self.cpu_s = 0.0
        self.running_error = 1.0

    def learn(self, stage: Stage) -> tuple[int, float, float, float]:
        """One step; frames, and of the batch, which is new: loss, share of wrong tokens, guided
        heads' loss.
        """
        random = np.random.default_rng([self.seed, 3])
        frames, count = stage.shapes[int(random.integers(len(stage.shapes)))]
        batch = Batch.of([make_row(self.seed + row, frames) for row in range(count)])
        self.seed += count
        known = with_slips(batch.outputs[:, :-1], stage.slips, random)
        scores, straying = output_scores(self.reader, self.decoder, batch, known)
        answers = batch.outputs[:, 1:]
        loss = nn.functional.cross_entropy(
            scores.flatten(0, 1), answers.flatten(), ignore_index=PAD
        )
        (loss + GUIDANCE * straying).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        rate = self.rate(stage)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad()
        wrong = (scores.argmax(-1) != answers)[answers != PAD]
        return frames, loss.item(), wrong.float().mean().item(), straying.item()

    def rate(self, stage: Stage) -> float:
        """Learning rate of this step."""
        fallen = stage.rate + (stage.end_rate - stage.rate) * self.step / stage.steps
        return fallen * min(1.0, (self.steps + 1) / WARM_STEPS)

    @property
    def is_done(self) -> bool:
        """Whether all stages are through."""
        return self.stage == len(STAGES)

    def teach_reader(self) -> Iterator[LogRow]:
        """The lesson before the stages."""
        begun = time.process_time()
        for step, error in teach_reader(self.reader, self.seed):
            cpu_s = self.cpu_s + time.process_time() - begun
            yield ("reader", 0, step, round(cpu_s, 1), "", error, error, "", "")
        self.seed += READER_ROWS * READER_STEPS
        self.cpu_s += time.process_time() - begun
        self.stage = 0

    def advance(self) -> LogRow | None:
        """One step of the stages; a row for the log after every tenth."""
        stage = STAGES[self.stage]
        begun = time.process_time()
        frames, loss, error, straying = self.learn(stage)
        self.cpu_s += time.process_time() - begun
        weight = 0.1 if self.step else 1.0
        self.running_error += weight * (error - self.running_error)
        row: LogRow | None = None
        if self.step % 10 == 0:
            row = (
                self.stage,
                frames,
                self.step,
                round(self.cpu_s, 1),
                round(loss, 4),
                round(error, 4),
                round(self.running_error, 4),
                self.rate(stage),
                round(straying, 4),
            )
        self.step += 1
        self.steps += 1
        is_learned = self.step >= MIN_STEPS and self.running_error <= stage.until
        if is_learned or self.step >= stage.steps:
            self.stage, self.step = self.stage + 1, 0
        return row

    def save(self, path: Path) -> None:
        """Everything that `restore` needs; the old file stays whole until the new one is."""
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        weights = [part.state_dict() for part in (self.reader, self.decoder, *self.optimizers)]
        torch.save((weights, [getattr(self, name) for name in PLACE]), fresh)
        fresh.replace(path)

    def restore(self, path: Path) -> None:
        """Go on where `save` was called.

        Raises:
            OSError, RuntimeError, ValueError: the file cannot be read or is of another model.
        """
        weights, place = torch.load(path, weights_only=True)
        parts = (self.reader, self.decoder, *self.optimizers)
        for part, state in zip(parts, weights, strict=True):
            part.load_state_dict(state)
        for name, value in zip(PLACE, place, strict=True):
            setattr(self, name, value)


def main() -> None:
    """The command."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--state", type=Path, default=STATE, help="where a break is survived")
    arguments.add_argument("--log", type=Path, default=LOG)
    arguments.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    chosen = arguments.parse_args()
    torch.set_num_threads(1)
    training = Training()
    if chosen.state.is_file():
        training.restore(chosen.state)
    saved_s = time.monotonic()
    with chosen.log.open("a" if training.steps else "w", newline="") as file:
        log = csv.writer(file, lineterminator="\n")
        if training.stage < 0:
            log.writerow(LOG_COLUMNS)
            log.writerows(training.teach_reader())
        while not training.is_done:
            row = training.advance()
            if row is not None:
                log.writerow(row)
                file.flush()
                print(*row, flush=True)
            if training.is_done or time.monotonic() - saved_s > SAVE_EVERY_S:
                training.save(chosen.state)
                Nano(training.reader, training.decoder).save(chosen.checkpoint)
                saved_s = time.monotonic()
    chosen.state.unlink()


if __name__ == "__main__":
    main()
