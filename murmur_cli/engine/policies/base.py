"""What a policy is: one rule for the speech region and one for the output region."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from murmur_cli.engine.regions import Range, RowView, Selection


@dataclass(frozen=True, slots=True)
class RequestRates:
    """What a backend says of its requests, so that defaults can be fixed in time.

    Attributes:
        speech_entries_per_s: entries of the speech region per second of audio.
        output_tokens_per_s: tokens usually decoded per second of audio.
        request_s: longest audio of one request.
        speech_is_causal: whether speech entries lie in the cache that decoding appends to, in
            order before the output; false for a cross-attention cache.
        has_alignment_heads: whether the adapter records the attention of heads that follow the
            audio.
        tail_sinks: last entries of the speech region that the model attends to at every step,
            whatever is being said; they are always read.
    """

    speech_entries_per_s: float
    output_tokens_per_s: float
    request_s: float
    speech_is_causal: bool = True
    has_alignment_heads: bool = False
    tail_sinks: int = 0


@dataclass(frozen=True, slots=True)
class OutputBound:
    """Most output entries that are ever read: `sinks` first ones and `window` last ones.

    The arena then stores the output region in a ring of `sinks + window` entries.
    """

    sinks: int
    window: int


@dataclass(frozen=True, slots=True)
class FocusNeed:
    """That a rule follows the row's attention, and which entries do not count for it.

    Attributes:
        sinks, tail_sinks: first and last entries of the speech region that are left out.
    """

    sinks: int
    tail_sinks: int


class SpeechRule(Protocol):
    """Chooses entries of the speech region."""

    def select_speech(self, row: RowView) -> tuple[Range, ...] | None:
        """Ascending, disjoint ranges within [0, row.speech_entries).

        None: the index of the rule chooses, for each layer and KV head (`retrieval.py`).
        """

    @property
    def focus_need(self) -> FocusNeed | None:
        """What `RowView.focus` is made of; None if the rule does not use it."""


class OutputRule(Protocol):
    """Chooses entries of the output region; the same for all layers and heads."""

    def select_output(self, row: RowView) -> tuple[Range, ...]:
        """Ascending, disjoint ranges within [0, row.output_entries); holds the newest entry."""

    @property
    def bound(self) -> OutputBound | None:
        """The ring that suffices for every selection; None if there is no bound."""


class JointRule(SpeechRule, OutputRule, Protocol):
    """One rule for both regions, with one set of options."""


@dataclass(frozen=True, slots=True)
class EvictionPolicy:
    """A speech rule and an output rule; their selection is one, not two state machines."""

    name: str
    speech: SpeechRule
    output: OutputRule

    @property
    def focus_need(self) -> FocusNeed | None:
        """What the engine must track of each row's attention; None for nothing."""
        return self.speech.focus_need

    def select(self, row: RowView) -> Selection:
        """What the step of this row reads. Depends on this row alone."""
        return Selection(self.speech.select_speech(row), self.output.select_output(row))
