"""What is kept of watched heads, against plain numpy."""

from __future__ import annotations

import numpy as np
import torch

from murmur_cli.engine.speech_peaks import (
    NEAR,
    NUMBERS,
    ON_SPEECH,
    PLACE,
    REACH,
    peak_trace,
    speech_peaks,
)


def test_peaks_when_compared_with_numpy_then_equal() -> None:
    random = np.random.default_rng(0)
    seen = random.random((3, 2, 40)).astype(np.float32)
    starts, ends = [0, 5, 12], [40, 9, 31]
    found = speech_peaks(torch.from_numpy(seen), torch.tensor(starts), torch.tensor(ends)).numpy()
    assert found.shape == (3, 2, NUMBERS)
    for row, (start, end) in enumerate(zip(starts, ends, strict=True)):
        for head in range(2):
            speech = seen[row, head, start:end]
            best = int(speech.argmax())
            padded = np.pad(speech, REACH)
            assert found[row, head, PLACE] == best
            np.testing.assert_allclose(found[row, head, ON_SPEECH], speech.sum(), rtol=1e-6)
            np.testing.assert_array_equal(
                found[row, head, NEAR:], padded[best : best + 2 * REACH + 1]
            )


def test_peaks_when_no_speech_is_read_then_zero_at_the_first_entry() -> None:
    found = speech_peaks(torch.zeros(1, 1, 9), torch.tensor([3]), torch.tensor([7]))
    assert found.flatten().tolist() == [0.0] * NUMBERS


def numbers(place: int) -> torch.Tensor:
    return torch.full((NUMBERS,), 0.5).index_fill(0, torch.tensor([PLACE]), float(place))


def test_trace_when_the_heads_become_fewer_then_those_that_were_seen_throughout() -> None:
    many, few = ((1, 0), (1, 2), (3, 1)), ((1, 2), (2, 0))
    steps = [
        (many, torch.stack([numbers(1), numbers(2), numbers(3)])),
        (many, torch.stack([numbers(4), numbers(5), numbers(6)])),
        (few, torch.stack([numbers(7), numbers(8)])),
    ]
    trace = peak_trace(steps)
    assert trace is not None
    assert trace.heads == ((1, 2),)
    assert trace.places.tolist() == [[2], [5], [7]]
    assert trace.near.shape == (3, 1, 2 * REACH + 1)
    assert peak_trace([steps[0], ((), torch.zeros(0, NUMBERS))]) is None
    assert peak_trace([]) is None


def test_trace_when_cut_then_its_tokens_and_heads() -> None:
    heads = ((1, 0), (1, 2))
    steps = [(heads, torch.stack([numbers(place), numbers(10 + place)])) for place in range(4)]
    trace = peak_trace(steps)
    assert trace is not None
    part = trace.part(slice(1, 3), [1])
    assert (part.heads, part.places.tolist(), part.tokens) == (((1, 2),), [[11], [12]], 2)
