"""VoxZip's first stage through decoder, task and session of tiny random models."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from murmur_cli.asr.base import Job, Recognition
from murmur_cli.asr.speech_llm.anchors import Anchor
from murmur_cli.asr.speech_llm.chunk_task import ChunkTask
from murmur_cli.asr.speech_llm.decoder import SpeechLlmDecoder
from murmur_cli.asr.speech_llm.families.vibevoice import VibeVoice
from murmur_cli.asr.speech_llm.family import Ask, SpokenOutput, SpokenSegment
from murmur_cli.asr.speech_llm.session import SpeechLlmOptions, SpeechLlmSession
from murmur_cli.asr.speech_llm.speech_groups import TokenAnchor
from murmur_cli.engine.policies.registry import build_policy
from murmur_cli.engine.request import Finished, Request, StopReason
from murmur_cli.progress import SilentProgress
from murmur_cli.types import Chunk, KvUsage, SampleSpan, Window
from support.tiny_speech_llms import TINY_FAMILIES, TinyFamily
from support.tiny_speech_llms.tiny_family import MAX_NEW_TOKENS, engine_output, noise

pytestmark = pytest.mark.filterwarnings("ignore")  # the library's own, about tiny configurations

RATE = 16_000
SAID = (20, 30)
"""Text tokens of the anchor."""


@functools.cache
def built(name: str) -> TinyFamily:
    return TINY_FAMILIES[name]()


def anchored(request: Request) -> Request:
    """With an anchor over the middle half of its audio."""
    samples = sum(piece.length for piece in request.source.pieces)
    anchor = TokenAnchor(samples // 4, 3 * samples // 4, SAID)
    return replace(request, source=replace(request.source, anchors=(anchor,)))


def grouped_by_hand(encoded: torch.Tensor, said: torch.Tensor, samples: int) -> torch.Tensor:
    """The entries under `anchored`, in float64; said: embeddings of SAID."""
    rows = encoded.double().numpy()
    first = len(rows) * (samples // 4) // samples
    last = len(rows) * (3 * samples // 4) // samples
    assert last - first > len(SAID)
    half = (last - first) // 2
    joined = [
        rows[first : first + half].mean(axis=0) + said[0].double().numpy(),
        rows[first + half : last].mean(axis=0) + said[1].double().numpy(),
    ]
    return torch.from_numpy(np.concatenate([rows[:first], joined, rows[last:]])).float()


def greedy_by_library(tiny: TinyFamily, request: Request) -> list[int]:
    """The library's layers over the whole row again for each token: no cache, no arena."""
    family = tiny.family
    features = tiny.decoder().prepare(request.source).features
    samples = sum(piece.length for piece in request.source.pieces)
    with torch.inference_mode():
        speech = grouped_by_hand(family.encode(features), family.embed(torch.tensor(SAID)), samples)
        ids = [*request.prompt, *(-1,) * len(speech), *request.suffix]
        out: list[int] = []
        with tiny.library_attention():
            while len(out) < MAX_NEW_TOKENS:
                row = torch.tensor([*ids, *out])
                embedded = family.embed(row.clamp(min=0))
                start = len(request.prompt)
                embedded[start : start + len(speech)] = speech
                hidden = family.text_model(
                    inputs_embeds=embedded[None],
                    position_ids=torch.arange(len(row))[None],
                    use_cache=False,
                    **family.extra_inputs(row[None]),
                ).last_hidden_state
                logits = family.logits(hidden[:, -1])[0]
                logits[list(family.forbidden_tokens)] = -torch.inf
                token = int(logits.argmax())
                if token in family.end_tokens:
                    break
                out.append(token)
    return out


@pytest.mark.parametrize("name", sorted(TINY_FAMILIES))
def test_tokens_when_speech_is_grouped_then_those_of_the_rows_made_by_hand(name: str) -> None:
    tiny = built(name)
    requests = [
        anchored(request)
        for request in tiny.requests()
        if tiny.family.speech_entries(round(request.audio_s * tiny.family.traits.sample_rate_hz))
        >= 8
    ]
    assert requests
    done = engine_output(tiny, requests, slots=2)
    for request in requests:
        assert list(done[request.key].tokens) == greedy_by_library(tiny, request)


# --- task and session -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def family(vibevoice_folder: Path) -> VibeVoice:
    return VibeVoice.load(vibevoice_folder, dtype=torch.float32, device_map="cpu")


def job(length_s: float) -> Job:
    span = SampleSpan(RATE, RATE + round(length_s * RATE))
    chunk = Chunk(0, span, (Window(span, (span,), (span,)),))
    return Job("talk", noise(span.end), (chunk,))


class Reads(VibeVoice):
    """Whatever the tokens are, says a word from second 1.5 to 2.5."""

    def read(self, tokens: object, *, is_cut: bool) -> SpokenOutput:
        return SpokenOutput((SpokenSegment("hello", 1.5, 2.5),))


def test_task_when_speech_is_grouped_then_times_are_those_of_the_audio(
    vibevoice_folder: Path,
) -> None:
    # 7.5 entries a second: 4 s are 30 entries; those of second 1 to 3, [7, 22), become 5.
    family = Reads.load(vibevoice_folder, dtype=torch.float32, device_map="cpu")
    spoken = job(4.0)
    task = ChunkTask(
        "talk chunk 0",
        spoken.chunks[0],
        spoken.samples,
        family,
        Ask(4.0),
        100,
        anchors=(Anchor(SampleSpan(2 * RATE, 4 * RATE), "abcd"),),
    )
    request = task.first_request()
    (anchor,) = request.source.anchors
    assert (anchor.start, anchor.end) == (RATE, 3 * RATE)
    assert anchor.tokens == family.text_tokens(" abcd")
    assert len(anchor.tokens) == 5
    assert (task.entries_encoded, task.entries_left) == (30, 20)
    assert request.audio_s == 4.0
    words = [family.tokenizer.decode([token]) for token in (*request.prompt, *request.suffix)]
    assert "2.67" in "".join(words)  # 20 entries at 7.5 a second
    finished = Finished(request, (7, 7), (-0.1, -0.1), StopReason.END, None, KvUsage(), None, None)
    task.take(finished)
    # Second 1.5 is entry 11.25, of which 7 are as they were and 4.25 of 5 groups of 3 entries:
    # entry 19.75, second 2.633. Second 2.5 is entry 18.75: 10 more entries, second 3.833.
    (segment,) = task.segments
    assert segment.span.start_s == pytest.approx(1 + 19.75 / 7.5, abs=1e-3)
    assert segment.span.end_s == pytest.approx(1 + 28.75 / 7.5, abs=1e-3)


@dataclass
class Knows:
    """Anchors that are known."""

    found: Mapping[int, tuple[Anchor, ...]]
    name: str = "stand-in"

    def anchors(self, job: Job) -> Mapping[int, tuple[Anchor, ...]]:
        return self.found


@pytest.mark.parametrize(
    ("options", "read_share"),
    [({"stages": "1"}, 1.0), ({"stages": "both", "budget": "0.5"}, 0.5)],
)
def test_session_when_speech_is_grouped_then_less_is_held_and_it_says_so(
    family: VibeVoice, options: dict[str, str], read_share: float
) -> None:
    anchors = Knows({0: (Anchor(SampleSpan(2 * RATE, 4 * RATE), "abcd"),)})
    policy = build_policy("voxzip", options, family.traits.rates(4.0))
    session = SpeechLlmSession(
        SpeechLlmDecoder(family, 4.0),
        family,
        "tiny",
        policy,
        SpeechLlmOptions(None, "transcribe", "", 1, 4.0),
        SilentProgress(),
        anchors,  # type: ignore[arg-type]  # a stand-in
    )
    session.submit(job(4.0), more_follow=False)
    done = []
    while session.busy:
        done += session.step()
    session.close()
    (recognised,) = done
    assert isinstance(recognised.result, Recognition)
    (chunk,) = recognised.result.chunks
    (note,) = [line for line in recognised.result.notes if line.startswith("voxzip")]
    assert note.startswith("voxzip stage 1: 1 anchors of stand-in; where they lie, ")
    first = chunk.kv.speech_entries_held / chunk.kv.steps
    assert first <= 20  # of 30; requests after the first hear less
    assert chunk.kv.speech_entries_read == pytest.approx(
        read_share * chunk.kv.speech_entries_held, rel=0.1
    )
