"""Audio kept in memory or on disk must read the same."""

import tracemalloc

import numpy as np
import pytest

from murmur_cli.audio import spool
from murmur_cli.audio.spool import Spool, SpooledAudio, spool_through
from murmur_cli.types import SampleSource


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "MEMORY_VALUES", 100)


def noise(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def spooled(audio: np.ndarray, block: int) -> spool.AudioSource:
    made = Spool()
    for start in range(0, len(audio), block):
        made.append(audio[start : start + block].copy())
    return made.finish()


def test_spool_when_short_then_plain_array(small_memory: None) -> None:
    audio = noise(100)
    found = spooled(audio, 30)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, audio)
    assert Spool().finish()[:].shape == (0,)


@pytest.mark.parametrize("shape", [(101,), (51, 2), (1000, 3)])
@pytest.mark.parametrize("block", [1, 7, 5000])
def test_spool_when_long_then_on_disk_and_equal(
    small_memory: None, shape: tuple[int, ...], block: int
) -> None:
    audio = noise(*shape)
    found = spooled(audio, block)
    assert isinstance(found, SpooledAudio)
    assert found.shape == shape
    assert len(found) == shape[0]
    np.testing.assert_array_equal(found[:], audio)
    np.testing.assert_array_equal(found.ravel()[:], audio.ravel())
    assert found[:].dtype == np.float32


def test_spooled_when_sliced_then_a_fresh_array_that_may_be_changed(small_memory: None) -> None:
    found = spooled(noise(500), 100)
    part = found[10:20]
    part[:] = 9.0
    np.testing.assert_array_equal(found[10:20], noise(500)[10:20])
    assert part.flags.writeable
    assert part.flags.c_contiguous


def test_spooled_when_steps_are_asked_then_refused(small_memory: None) -> None:
    with pytest.raises(ValueError, match="steps of 2"):
        spooled(noise(500), 100)[::2]


def test_spooled_when_only_its_flat_form_is_left_then_still_there(small_memory: None) -> None:
    flat = spooled(noise(200, 1), 50).ravel()
    np.testing.assert_array_equal(flat[:], noise(200))


def test_spooled_when_closed_then_unreadable(small_memory: None) -> None:
    found = spooled(noise(500), 100)
    assert isinstance(found, SpooledAudio)
    found.close()
    with pytest.raises(ValueError, match="closed"):
        found[:10]


def test_spool_through_when_on_disk_then_as_in_memory(
    small_memory: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "BLOCK_SAMPLES", 33)
    audio = noise(1000)
    found = spool_through(spooled(audio, 70), lambda block: block * np.float32(0.5))
    np.testing.assert_array_equal(found[:], audio * np.float32(0.5))


def test_spool_when_long_then_memory_is_bounded() -> None:
    """26 blocks are 109 MB. Python's own count of memory includes numpy's arrays."""
    block = np.zeros(1 << 20, np.float32)
    blocks = 26
    tracemalloc.start()
    made = Spool()
    for _ in range(blocks):
        made.append(block.copy())
    kept: SampleSource = made.finish()
    kept = spool_through(kept, lambda part: part * np.float32(2.0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(kept) == blocks * len(block)
    assert peak < 60e6
