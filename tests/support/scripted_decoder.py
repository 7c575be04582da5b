"""A DecoderAdapter whose rows follow a script."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from murmur_cli.engine.model_adapter import EntryBytes, PrefillOutput, StepOutput, StepRow
from murmur_cli.engine.policies.base import EvictionPolicy, OutputBound
from murmur_cli.engine.policies.keep_all import KeepAll
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.request import Request

END = 0
VOCABULARY = 64
SPEECH = 10
NONE = EvictionPolicy("none", KeepAll(), KeepAll())


@dataclass
class ScriptedDecoder:
    """A DecoderAdapter whose rows follow a script: `source` is the list of tokens to give.

    It plays the script's token as the clear winner, and checks that every step continues the
    row that lives in the slot.
    """

    end_tokens: frozenset[int] = frozenset({END})
    entry_bytes: EntryBytes = field(default_factory=lambda: EntryBytes(8, 8))
    max_entries: int = 100
    bound: OutputBound | None = None
    speech_of: dict[int, int] = field(default_factory=dict)  # by the script's first token
    scripts: dict[int, list[int]] = field(default_factory=dict)
    steps: list[list[StepRow]] = field(default_factory=list)
    prefills: list[tuple[int, ...]] = field(default_factory=list)

    prepared_bytes: int = 1000
    free: int | None = None
    opened: list[tuple[int, int]] = field(default_factory=list)  # (slots, own entries)
    loads: list[tuple[int, ...]] = field(default_factory=list)
    unreadable: list[list[int]] = field(default_factory=list)  # sources
    faults: dict[tuple[str, int], Exception] = field(default_factory=dict)  # by call and its number
    calls: Counter[str] = field(default_factory=Counter)
    is_open: bool = False

    def _call(self, name: str) -> None:
        self.calls[name] += 1
        if (name, self.calls[name]) in self.faults:
            raise self.faults[name, self.calls[name]]

    @property
    def greedy_steps(self) -> None:
        return None

    def planned_bytes(
        self, slots: int, own_entries: int, retrieval: RetrievalRule | None = None
    ) -> int:
        return slots * (SPEECH + own_entries) * self.entry_bytes.speech

    def free_bytes(self) -> int | None:
        return self.free

    def open(
        self,
        slots: int,
        own_entries: int,
        bound: OutputBound | None,
        retrieval: RetrievalRule | None = None,
    ) -> None:
        self.bound = bound
        self.opened.append((slots, own_entries))
        self.scripts = {}
        self._call("open")
        self.is_open = True

    def close(self) -> None:
        self.scripts = {}
        self.is_open = False

    def prepare(self, source: list[int]) -> tuple[list[int]]:
        if source in self.unreadable:
            raise OSError(f"{source} is unreadable")
        return (source,)

    def load(self, slots: Sequence[int], sources: Sequence[tuple[list[int]]]) -> tuple[int, ...]:
        self._call("load")
        self.loads.append(tuple(slots))
        for slot, (source,) in zip(slots, sources, strict=True):
            self.scripts[slot] = source
        return tuple(self.speech_of.get(source[0], SPEECH) for (source,) in sources)

    def prefill(
        self,
        slots: Sequence[int],
        prompts: Sequence[tuple[int, ...]],
        suffixes: Sequence[tuple[int, ...]],
    ) -> PrefillOutput:
        self._call("prefill")
        assert len({len(prompt) for prompt in prompts}) == 1
        assert len({len(suffix) for suffix in suffixes}) == 1
        self.prefills.append(tuple(slots))
        return PrefillOutput(
            self._logits([(slot, 0) for slot in slots]),
            tuple(slot / 10 for slot in slots),
            torch.full((len(slots), 1, SPEECH), 0.5),
        )

    def step(self, rows: Sequence[StepRow]) -> StepOutput:
        self._call("step")
        self.steps.append(list(rows))
        assert [row.slot for row in rows] == sorted(row.slot for row in rows)
        for row in rows:
            assert row.token == self.scripts[row.slot][row.output_entries - 1]
        places = [(row.slot, row.output_entries) for row in rows]
        attention = torch.tensor([row.output_entries / 100 for row in rows])
        return StepOutput(
            self._logits(places), attention[:, None, None].expand(-1, 1, SPEECH).clone()
        )

    def _logits(self, places: list[tuple[int, int]]) -> torch.Tensor:
        logits = torch.zeros(len(places), VOCABULARY)
        for row, (slot, place) in enumerate(places):
            logits[row, self.scripts[slot][place]] = 50.0
        return logits


class EverythingIsText:
    @property
    def is_fixed(self) -> bool:
        return False

    def restrict(self, logits: torch.Tensor, outputs: Sequence[Sequence[int]]) -> None:
        """Leave the logits as they are."""

    def is_text(self, token: int) -> bool:
        return True


def request(
    key: str, script: list[int], audio_s: float = 1.0, limit: int = 60, prompt: int = 1
) -> Request:
    return Request(key, script, tuple(range(1, prompt + 1)), audio_s, limit)
