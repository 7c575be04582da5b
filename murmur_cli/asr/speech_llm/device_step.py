"""Decode steps whose shapes never change, so that a CUDA graph can hold them.

Every slot has a row, whether a request is in it or not; what differs from step to step is a table
of small integers on the device. Several steps are planned on the host and uploaded in one copy;
the token that one step chooses is the next one's input without the host having seen it. So the
device waits for nobody until the tokens are fetched, once for all these steps.

Without CUDA the same steps run as they are, which is how they are tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from murmur_cli.asr.speech_llm.family import SpeechLlm
from murmur_cli.asr.speech_llm.head_watch import HeadWatch
from murmur_cli.asr.speech_llm.layer_caches import LayerCaches
from murmur_cli.asr.speech_llm.row_layout import RowLayout
from murmur_cli.engine.attention import MAX_RANGES, Selection, attend
from murmur_cli.engine.model_adapter import ChosenTokens, StepRow
from murmur_cli.engine.policies.base import OutputBound
from murmur_cli.engine.speech_peaks import NUMBERS, Heads, StepPeaks, speech_peaks
from murmur_cli.engine.speech_trace import ranges_by_entry

SLOT, POSITION, PLACE, ACTIVE, SPEECH_START, SPEECH_END, NUM_RANGES, FIRST_RANGE = range(8)
COLUMNS = FIRST_RANGE + 2 * MAX_RANGES

WARM_UP_STEPS = 2
"""Before a graph is captured: libraries choose their algorithms in the first calls."""


@dataclass(frozen=True, slots=True)
class StepTable:
    """What all rows of one step read and write, for layers of one sliding window.

    numbers: (slots, COLUMNS) int32 on the device. active: (slots,) bool.
    """

    numbers: torch.Tensor
    active: torch.Tensor

    @property
    def selection(self) -> Selection:
        """Views of the table: what it holds may change, the tensors do not."""
        ranges = self.numbers[:, FIRST_RANGE:].view(len(self.numbers), MAX_RANGES, 2)
        return Selection(
            slots=self.numbers[:, SLOT],
            active=self.active,
            ranges=ranges,
            num_ranges=self.numbers[:, NUM_RANGES],
        )


class DeviceSteps:
    """Greedy steps over all slots of a SpeechLlm's caches.

    Args:
        family: the model, switched to the engine's attention.
        caches: of all slots.
        device: where both are.
        bound: of the output region.
        most: steps at a time.
        watch: which heads to record, None for none. Their probabilities are computed in the graph;
            when the heads change, a new one is captured.
    """

    def __init__(
        self,
        family: SpeechLlm,
        caches: LayerCaches,
        device: torch.device,
        bound: OutputBound | None,
        most: int,
        watch: HeadWatch | None = None,
    ) -> None:
        self._family = family
        self._caches = caches
        self._device = device
        self._bound = bound
        self.most = most
        forbidden = list(family.forbidden_tokens)
        self._forbidden = torch.tensor(forbidden, dtype=torch.long, device=device)
        self._tables: dict[int | None, StepTable] = {}
        self._selections: dict[int | None, Selection] = {}
        self._ids = torch.zeros(caches.slots, dtype=torch.long, device=device)
        self._logprobs = torch.zeros(caches.slots, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._warm = 0
        self._watch = watch
        self._heads: Heads = ()
        self._peaks = torch.zeros(caches.slots, 0, NUMBERS, device=device)
        self._watched: dict[int, tuple[int, ...]] = {}
        self._table(None)

    @torch.inference_mode()
    def run(self, steps: Sequence[Sequence[StepRow]]) -> ChosenTokens:
        """Decode several steps; the first reads the rows' own tokens, the others what was chosen.

        steps: the same rows in each step, in ascending order of slots.
        """
        self._follow_watch(steps[0])
        layouts = [[RowLayout(row, self._bound) for row in step] for step in steps]
        rows = [row.slot for row in steps[0]]
        first = torch.zeros(self._caches.slots, dtype=torch.long)
        first[rows] = torch.tensor([row.token for row in steps[0]])
        self._ids.copy_(first)
        tokens = torch.empty(len(steps), self._caches.slots, dtype=torch.long, device=self._device)
        logprobs = torch.empty(len(steps), self._caches.slots, device=self._device)
        peaks = torch.empty(len(steps), *self._peaks.shape, device=self._device)
        if self._warm == 0:
            # Finds out which sliding windows there are; a step run twice gives the same.
            self._fill({None: self._numbers(layouts[0], None)[None].to(self._device)}, 0)
            kept = self._ids.clone()
            self._step()
            self._ids.copy_(kept)
        planned = {
            window: torch.stack([self._numbers(step, window) for step in layouts]).to(
                self._device, non_blocking=True
            )
            for window in self._tables
        }
        for number in range(len(steps)):
            self._fill(planned, number)
            self._replay()
            tokens[number] = self._ids
            logprobs[number] = self._logprobs
            peaks[number] = self._peaks
        chosen = torch.stack([tokens.double(), logprobs.double()])[:, :, rows].cpu()
        of_step = chosen[0].long().tolist()
        seen = list(peaks[:, rows]) if self._heads else None
        self._note(steps, of_step, seen)
        return ChosenTokens(
            of_step,
            chosen[1].tolist(),
            None if seen is None else [StepPeaks(self._heads, numbers) for numbers in seen],
        )

    def _follow_watch(self, rows: Sequence[StepRow]) -> None:
        """Take in what the rows said last; record the heads that are to be recorded from now on."""
        if self._watch is None:
            return
        for row in rows:
            self._watch.said(row.slot, is_text=self._family.is_text(row.token))
        self._watch.review()
        heads = tuple(sorted(self._watch.heads))
        if heads != self._heads:
            self._heads = heads
            self._watched = {layer: () for layer, _ in heads}
            for layer, head in heads:
                self._watched[layer] = (*self._watched[layer], head)
            self._peaks = torch.zeros(self._caches.slots, len(heads), NUMBERS, device=self._device)
            self._graph, self._warm = None, min(self._warm, 1)

    def _note(
        self,
        steps: Sequence[Sequence[StepRow]],
        chosen: Sequence[Sequence[int]],
        seen: Sequence[torch.Tensor] | None,
    ) -> None:
        """Tell the watch where the rows looked, and what that led to; of the last step the next
        call tells."""
        if self._watch is None or self._watch.is_settled or seen is None:
            return
        for number, rows in enumerate(steps):
            for at, row in enumerate(rows):
                self._watch.look(row.slot, seen[number][at])
                if number + 1 < len(steps):
                    is_text = self._family.is_text(chosen[number][at])
                    self._watch.said(row.slot, is_text=is_text)

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
        """The ArenaPass of a step."""
        place = self._caches.of(layer)
        numbers = self._table(None).numbers
        if not shares:
            place.arena.write_entries(
                place.index,
                numbers[:, SLOT].long(),
                numbers[:, PLACE].long(),
                keys[:, :, 0],
                values[:, :, 0],
            )
        self._table(window)
        watched = self._watched.get(layer, ())
        selection = self._selections[window]
        mixed, terms = attend(
            query[:, :, 0], place.keys, place.values, selection, scale, probe_heads=watched
        )
        if terms is not None:
            seen = ranges_by_entry(terms, selection, self._caches.capacity)
            first = self._heads.index((layer, watched[0]))
            self._peaks[:, first : first + len(watched)] = speech_peaks(
                seen, numbers[:, SPEECH_START], numbers[:, SPEECH_END]
            )
        return mixed[:, None]

    def _step(self) -> None:
        """One token of each row, from `ids` and the tables to `ids` and `logprobs`."""
        positions = self._table(None).numbers[:, POSITION].long()
        ids = self._ids[:, None]
        output = self._family.text_model(
            inputs_embeds=self._family.embed(self._ids)[:, None],
            position_ids=positions[:, None],
            use_cache=False,
            arena=self,
            **self._family.extra_inputs(ids),
        )
        logits = self._family.logits(output.last_hidden_state[:, 0])
        logits.index_fill_(1, self._forbidden, -torch.inf)
        best = logits.argmax(dim=1)
        chosen = logits.gather(1, best[:, None])[:, 0]
        self._logprobs.copy_(chosen - torch.logsumexp(logits, dim=1))
        self._ids.copy_(best)

    def _replay(self) -> None:
        if self._device.type != "cuda":
            self._step()
            self._warm += 1
            return
        if self._graph is None and self._warm >= WARM_UP_STEPS:
            kept = self._ids.clone()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self._step()
            self._graph = graph
            self._ids.copy_(kept)
        if self._graph is not None:
            self._graph.replay()
        else:
            self._step()
        self._warm += 1

    def _table(self, window: int | None) -> StepTable:
        if window not in self._tables:
            slots = self._caches.slots
            self._tables[window] = StepTable(
                torch.zeros(slots, COLUMNS, dtype=torch.int32, device=self._device),
                torch.zeros(slots, dtype=torch.bool, device=self._device),
            )
            self._tables[window].numbers[:, SLOT] = torch.arange(slots, device=self._device)
            self._selections[window] = self._tables[window].selection
        return self._tables[window]

    def _fill(self, planned: dict[int | None, torch.Tensor], step: int) -> None:
        for window, numbers in planned.items():
            table = self._tables[window]
            table.numbers.copy_(numbers[step])
            table.active.copy_(numbers[step, :, ACTIVE] > 0)

    def _numbers(self, layouts: Sequence[RowLayout], window: int | None) -> torch.Tensor:
        """(slots, COLUMNS) int32 on the host; slots without a row select nothing.

        They write to the first entry of their own slot, which the next prompt overwrites.
        """
        rows = [[slot, *(0,) * (COLUMNS - 1)] for slot in range(self._caches.slots)]
        for layout in layouts:
            edges = [edge for span in layout.reads(window) for edge in span]
            rows[layout.row.slot] = [
                layout.row.slot,
                layout.position,
                layout.place,
                1,
                layout.speech_start,
                layout.speech_start + layout.row.speech_entries,
                len(edges) // 2,
                *edges,
                *(0,) * (2 * MAX_RANGES - len(edges)),
            ]
        return torch.tensor(rows, dtype=torch.int32)
