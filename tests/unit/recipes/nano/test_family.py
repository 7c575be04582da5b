"""The nano model on the engine against the library's own greedy `generate`, random weights."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import torch

from murmur_cli.asr.speech_llm.arena_attention import ARENA_ATTENTION
from nano.batch import PROMPT, SUFFIX
from nano.decoding import decode, request_of
from nano.family import Nano
from nano.language import END, ONES_BASE, TENS_BASE, VOICE_BASE, WORD_BASE, language
from nano.meeting import Meeting, make_meeting
from nano.model import FrameReader, new_decoder
from support.tiny_speech_llms.tiny_family import strengthened

LENGTHS = (3, 20, 8, 33)


@functools.cache
def random_nano() -> Nano:
    torch.manual_seed(0)
    return Nano(strengthened(FrameReader()), strengthened(new_decoder()))


def meetings() -> list[Meeting]:
    return [make_meeting(seed, frames) for seed, frames in enumerate(LENGTHS)]


@functools.cache
def generated() -> list[list[int]]:
    """The library's attention and cache, one row at a time."""
    nano, outputs = random_nano(), []
    for meeting in meetings():
        embed = nano.model.get_input_embeddings()
        with torch.no_grad():
            heard = nano.reader(torch.from_numpy(meeting.frames)[None], torch.zeros(1).long())
            embedded = torch.cat(
                [embed(torch.tensor(PROMPT))[None], heard, embed(torch.tensor(SUFFIX))[None]], dim=1
            )
            nano.model.set_attn_implementation("sdpa")
            tokens = nano.model.generate(
                inputs_embeds=embedded,
                attention_mask=torch.ones(embedded.shape[:2], dtype=torch.long),
                do_sample=False,
                max_new_tokens=request_of(meeting, "").max_new_tokens,
                suppress_tokens=list(nano.forbidden_tokens),
            )[0].tolist()
            nano.model.set_attn_implementation(ARENA_ATTENTION)
        outputs.append(tokens[: tokens.index(END)] if END in tokens else tokens)
    return outputs


def common(output: tuple[int, ...], reference: list[int]) -> list[int]:
    """The loop guard may end an output early."""
    assert output
    return reference[: len(output)]


@pytest.mark.parametrize("slots", [1, 3])
def test_tokens_equal_generate(slots: int) -> None:
    for finished, reference in zip(
        decode(random_nano(), meetings(), slots=slots), generated(), strict=True
    ):
        assert list(finished.tokens) == common(finished.tokens, reference)


@pytest.mark.parametrize(
    ("evict", "options"),
    [
        ("output", {"window": "3000"}),
        ("speech", {"window": "2000"}),
        ("both", {"speech_window": "2000", "output_window": "3000"}),
    ],
)
def test_a_covering_budget_equals_none(evict: str, options: dict[str, str]) -> None:
    whole = decode(random_nano(), meetings())
    done = decode(random_nano(), meetings(), evict=evict, options=options)
    assert [one.tokens for one in done] == [one.tokens for one in whole]


def test_saved_weights_when_loaded_then_the_same_in_half_precision(tmp_path: Path) -> None:
    random_nano().save(tmp_path)
    loaded = Nano.load(tmp_path)
    for mine, other in zip(
        random_nano().model.parameters(), loaded.model.parameters(), strict=True
    ):
        torch.testing.assert_close(mine.half().float(), other)


def test_read_then_segments_with_times_and_speakers() -> None:
    spoken = language()
    output = [
        *(TENS_BASE + 12, ONES_BASE + 3, VOICE_BASE + 5, WORD_BASE + 1, WORD_BASE + 20),
        *(TENS_BASE + 13, ONES_BASE + 0, VOICE_BASE + 2, WORD_BASE + 2),
    ]
    segments = random_nano().read(output, is_cut=False).segments
    assert [(one.start_s, one.speaker, one.text) for one in segments] == [
        (123.0, 5, f"one {spoken.words[20]}"),
        (130.0, 2, "two"),
    ]
    assert not random_nano().read(output, is_cut=True).is_whole
    assert random_nano().read([], is_cut=False).segments == ()
