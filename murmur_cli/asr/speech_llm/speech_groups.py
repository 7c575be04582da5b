"""VoxZip's first stage: speech entries that another recogniser has put into words are grouped.

Source: "VoxZip" (text at hand; no code), section on semantic-anchored compression. An anchor is a
stretch of the audio with its text; with L entries of speech over T seconds it takes the entries
[floor(L start / T), floor(L end / T)). They become one group for each token of the text,

    f_j = mean(group_j) + text embedding of token j,

and what no anchor takes is kept as it is. It shortens the prompt, before the model reads it.

Choices: group j of `n` entries and `m` tokens is [floor(j n / m), floor((j + 1) n / m)); anchors
that overlap an earlier one begin where that ends; an anchor with no more entries than tokens
gains nothing and is kept as it is; positions are counted on without gaps. So times that the model
gives are on an axis where an entry is as long as ever; `SpeechGroups` leads back from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch

from murmur_cli.asr.speech_llm.family import SpokenOutput, SpokenSegment

NO_TOKEN = -1
"""Of an entry that is kept as it is."""


@dataclass(frozen=True, slots=True)
class TokenAnchor:
    """Tokens of a text and the samples [start, end) of the audio that was asked about."""

    start: int
    end: int
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class SpeechGroups:
    """Which entries stand for which.

    Attributes:
        edges: entry n stands for the encoder's entries [edges[n], edges[n + 1]).
        tokens: text token of each entry, NO_TOKEN for one that is kept.
        audio_s: seconds of the audio.
    """

    edges: tuple[int, ...]
    tokens: tuple[int, ...]
    audio_s: float

    @property
    def entries(self) -> int:
        """That are left."""
        return len(self.tokens)

    @property
    def encoded_entries(self) -> int:
        """That there were."""
        return self.edges[-1]

    @property
    def entry_s(self) -> float:
        """Seconds of audio behind one of the encoder's entries."""
        return self.audio_s / self.encoded_entries

    @property
    def told_s(self) -> float:
        """How long the audio seems to the model."""
        return self.entries * self.entry_s

    def joined(
        self, encoded: torch.Tensor, embed: Callable[[torch.Tensor], torch.Tensor]
    ) -> torch.Tensor:
        """The entries that are left, (entries, width), in the dtype of `encoded`.

        encoded: (encoded_entries, width). embed: embeddings (n, width) of tokens (n,).
        """
        assert encoded.shape[0] == self.encoded_entries, (encoded.shape, self.encoded_entries)
        edges = torch.tensor(self.edges, device=encoded.device)
        sizes = edges.diff()
        entry = torch.repeat_interleave(torch.arange(self.entries, device=encoded.device), sizes)
        sums = torch.zeros(self.entries, encoded.shape[1], device=encoded.device)
        sums.index_add_(0, entry, encoded.float())
        means = sums / sizes[:, None]
        said = torch.tensor(self.tokens, device=encoded.device)
        is_said = said != NO_TOKEN
        if bool(is_said.any()):
            means[is_said] += embed(said[is_said]).float().to(encoded.device)
        return means.to(encoded.dtype)

    def to_audio_s(self, told_s: float) -> float:
        """Time in the audio of a time that the model gives; beyond the end nothing is known."""
        if told_s >= self.told_s:
            return self.audio_s + told_s - self.told_s
        return float(np.interp(told_s / self.entry_s, self._places, self.edges)) * self.entry_s

    def to_told_s(self, audio_s: float) -> float:
        """Time that the model would give for one in the audio."""
        return float(np.interp(audio_s / self.entry_s, self.edges, self._places)) * self.entry_s

    def in_audio(self, output: SpokenOutput) -> SpokenOutput:
        """An output with times in the audio."""
        return replace(output, segments=tuple(map(self._segment_in_audio, output.segments)))

    def _segment_in_audio(self, spoken: SpokenSegment) -> SpokenSegment:
        start_s, end_s = (
            None if told_s is None else self.to_audio_s(told_s)
            for told_s in (spoken.start_s, spoken.end_s)
        )
        return replace(spoken, start_s=start_s, end_s=end_s)

    @cached_property
    def _places(self) -> list[int]:
        return list(range(self.entries + 1))


def group_speech(
    encoded_entries: int, samples: int, audio_s: float, anchors: Sequence[TokenAnchor]
) -> SpeechGroups:
    """The groups of an audio.

    Args:
        encoded_entries: of the audio, at least one.
        samples: of the audio, which anchors count in.
        audio_s: its length in seconds.
        anchors: by their start.
    """
    assert encoded_entries > 0 < samples, (encoded_entries, samples)
    edges: list[int] = [0]
    tokens: list[int] = []

    def keep_until(end: int) -> None:
        tokens.extend([NO_TOKEN] * (end - edges[-1]))
        edges.extend(range(edges[-1] + 1, end + 1))

    for anchor in anchors:
        start = max(edges[-1], encoded_entries * anchor.start // samples)
        end = min(encoded_entries, encoded_entries * anchor.end // samples)
        size, count = end - start, len(anchor.tokens)
        if not 0 < count < size:
            continue
        keep_until(start)
        edges.extend(start + (number + 1) * size // count for number in range(count))
        tokens.extend(anchor.tokens)
    keep_until(encoded_entries)
    return SpeechGroups(tuple(edges), tuple(tokens), audio_s)
