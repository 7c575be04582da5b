"""What the engine needs of a model's decoder; one adapter per model family.

The adapter owns the arenas and knows in which cache each region lies. It never decides what
is read: each step row comes with its selection.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.regions import Selection
from murmur_cli.engine.speech_peaks import StepPeaks


@dataclass(frozen=True, slots=True)
class StepRow:
    """One row of a decode step.

    Attributes:
        slot: where the row lives.
        token: the newest output token; its entry is written by this step.
        prompt_entries: entries before the speech region.
        output_entries: entries of the output region, this token's included.
        selection: what the step reads.
        speech_entries: entries of the speech region.
        suffix_entries: entries between the speech and the output region.
    """

    slot: int
    token: int
    prompt_entries: int
    output_entries: int
    selection: Selection
    speech_entries: int = 0
    suffix_entries: int = 0


@dataclass(frozen=True, slots=True)
class EntryBytes:
    """Bytes of one KV entry: of the speech region, and of prompt and output."""

    speech: int
    output: int


@dataclass(frozen=True, slots=True)
class PrefillOutput:
    """logits: (rows, vocabulary) float32 after the prompt; one no-speech value per row.

    attention: probe heads' probabilities of the last prompt position, float32
    (rows, heads, speech entries), None without probes. peaks: of watched heads at that position.
    """

    logits: torch.Tensor
    no_speech_probability: tuple[float | None, ...]
    attention: torch.Tensor | None
    peaks: StepPeaks | None = None


@dataclass(frozen=True, slots=True)
class StepOutput:
    """logits: (rows, vocabulary) float32. attention: like PrefillOutput's, zeros where unread.

    speech_read: speech entries that each row read, mean over layers and KV heads; None for a row
    (or all) whose selection says so itself. peaks: of watched heads, None where none is.
    """

    logits: torch.Tensor
    attention: torch.Tensor | None
    speech_read: tuple[float | None, ...] | None = None
    peaks: StepPeaks | None = None


@dataclass(frozen=True, slots=True)
class ChosenTokens:
    """Token and log-probability (natural logarithm) of each row, for each of several steps.

    peaks: of watched heads in each step, None where none is.
    """

    tokens: list[list[int]]
    logprobs: list[list[float]]
    peaks: list[StepPeaks] | None = None


class GreedySteps(Protocol):
    """Several greedy steps that run without the host between them."""

    @property
    def most(self) -> int:
        """Steps at a time; a row that ends among them is decoded to their end, for nothing."""

    def run(self, steps: Sequence[Sequence[StepRow]]) -> ChosenTokens:
        """Decode the same rows in each step, in ascending order of slots.

        The token of a row counts in the first step; later ones take what was chosen.
        """


class DecoderAdapter(Protocol):
    """A model's decoder over the engine's slots."""

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens of which each ends the output."""

    @property
    def entry_bytes(self) -> EntryBytes:
        """Bytes of key and value of one entry of each region, over all layers and heads."""

    @property
    def max_entries(self) -> int:
        """Most prompt and output tokens together."""

    @property
    def greedy_steps(self) -> GreedySteps | None:
        """Steps without the host, under rules that are fixed; None where they gain nothing."""

    def planned_bytes(
        self, slots: int, own_entries: int, retrieval: RetrievalRule | None = None
    ) -> int:
        """Bytes that `open` with the same arguments allocates."""

    @property
    def prepared_bytes(self) -> int:
        """Most bytes of one prepared source."""

    def free_bytes(self) -> int | None:
        """Bytes that are free where the arenas lie; None if nobody knows."""

    def open(
        self,
        slots: int,
        own_entries: int,
        bound: OutputBound | None,
        retrieval: RetrievalRule | None = None,
    ) -> None:
        """Allocate the arenas; `own_entries` of each slot are for prompt and output.

        With a bound the output region is a ring that fits into them beside any prompt. With a
        retrieval rule its index chooses where a row's selection of the speech is None.
        """

    def close(self) -> None:
        """Let the arenas go; `open` may follow."""

    def prepare(self, source: Any) -> Any:
        """What `load` takes, made from a request's source; may be called in another thread.

        How much of the work is done here, ahead of the decoder, is the adapter's choice.
        """

    def load(self, slots: Sequence[int], sources: Sequence[Any]) -> tuple[int, ...]:
        """Fill the speech region of slots with prepared sources; returns its entries for each."""

    def prefill(
        self,
        slots: Sequence[int],
        prompts: Sequence[tuple[int, ...]],
        suffixes: Sequence[tuple[int, ...]],
    ) -> PrefillOutput:
        """Run what comes before the output into slots that are loaded.

        All prompts are of one length, and so are the suffixes.
        """

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        """One token for each row; rows are in ascending order of slots."""


class TokenRule(Protocol):
    """Rules of decoding that a backend lays on the logits."""

    @property
    def is_fixed(self) -> bool:
        """Whether it forbids the same tokens at every step, as the adapter's greedy steps do."""

    def restrict(self, logits: torch.Tensor, outputs: Sequence[Sequence[int]]) -> None:
        """Set forbidden tokens to -inf in place. logits (rows, vocabulary); outputs so far."""

    def is_text(self, token: int) -> bool:
        """Whether the loop guard counts this token."""
