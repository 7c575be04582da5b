"""Rule of a retrieval policy -> its index."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import torch

from murmur_cli.engine.arena import ArenaShape, KvArena
from murmur_cli.engine.indexes.attention_spread import AttentionSpreadIndex
from murmur_cli.engine.indexes.c3 import C3Index
from murmur_cli.engine.indexes.c3_adaptive import AdaptiveC3Index
from murmur_cli.engine.indexes.chunkkv import ChunkKvIndex
from murmur_cli.engine.indexes.clusterkv import ClusterKvIndex
from murmur_cli.engine.indexes.h2o import H2OIndex
from murmur_cli.engine.indexes.pyramidkv import PyramidKvIndex
from murmur_cli.engine.indexes.quest import QuestIndex
from murmur_cli.engine.indexes.snapkv import SnapKvIndex
from murmur_cli.engine.indexes.unique import UniqueIndex
from murmur_cli.engine.indexes.voxzip import VoxZipIndex
from murmur_cli.engine.policies.attention_spread import AttentionSpread
from murmur_cli.engine.policies.c3 import C3
from murmur_cli.engine.policies.chunkkv import ChunkKv
from murmur_cli.engine.policies.clusterkv import ClusterKv
from murmur_cli.engine.policies.h2o import H2O
from murmur_cli.engine.policies.pyramidkv import PyramidKv
from murmur_cli.engine.policies.quest import Quest
from murmur_cli.engine.policies.retrieval import RetrievalRule
from murmur_cli.engine.policies.snapkv import SnapKv
from murmur_cli.engine.policies.unique import Unique
from murmur_cli.engine.policies.voxzip import VoxZip
from murmur_cli.engine.speech_index import SpeechIndex


def _c3_index(rule: C3, arena: KvArena, places: int) -> SpeechIndex:
    return (AdaptiveC3Index if rule.operations else C3Index)(rule, arena, places)


# An index takes the rule of its own class, the arena, and the most speech entries of a row.
INDEXES: dict[type[RetrievalRule], Any] = {
    C3: _c3_index,
    Quest: QuestIndex,
    Unique: UniqueIndex,
    ClusterKv: ClusterKvIndex,
    H2O: H2OIndex,
    SnapKv: SnapKvIndex,
    PyramidKv: PyramidKvIndex,
    ChunkKv: ChunkKvIndex,
    VoxZip: VoxZipIndex,
    AttentionSpread: AttentionSpreadIndex,
}


def speech_index(rule: RetrievalRule, arena: KvArena, places: int) -> SpeechIndex:
    """The rule's index for the speech of an arena, of at most `places` entries a row."""
    index: SpeechIndex = INDEXES[type(rule)](rule, arena, places)
    return index


def index_bytes(rule: RetrievalRule, shape: ArenaShape, places: int) -> int:
    """Bytes of the state of the rule's index for an arena of that shape.

    It is made on torch's device without memory, and its tensors are counted.
    """
    arena = KvArena(dataclasses.replace(shape, device=torch.device("meta")))
    index = speech_index(rule, arena, places)
    held = {id(tensor): tensor for tensor in _tensors(index, arena)}
    return sum(tensor.numel() * tensor.itemsize for tensor in held.values())


def _tensors(part: object, arena: KvArena) -> Iterable[torch.Tensor]:
    """All tensors that an object of ours holds, but for those of the arena."""
    if part is arena:
        return
    if isinstance(part, torch.Tensor):
        yield part
    elif isinstance(part, (tuple, list)):
        for value in part:
            yield from _tensors(value, arena)
    elif dataclasses.is_dataclass(part) or type(part).__module__.startswith(__package__ or ""):
        names = (
            [field.name for field in dataclasses.fields(part)]
            if dataclasses.is_dataclass(part)
            else vars(part)
        )
        for name in names:
            yield from _tensors(getattr(part, name), arena)
