"""Audio on disk is audio: every step gives what it gives on the array, wherever blocks end."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st

from murmur_cli.audio import block_power, level, spool
from murmur_cli.audio.level import bring_into_range, measure_level
from murmur_cli.audio.mono_mix import mix_to_mono
from murmur_cli.audio.resample import ResamplingCollector
from murmur_cli.audio.spool import AudioSource, Spool, SpooledAudio
from murmur_cli.chunking import cut_points
from murmur_cli.chunking.cut_points import cut_long_span
from murmur_cli.types import SampleSpan
from murmur_cli.vad import detector_gain as gain
from murmur_cli.vad.detector_gain import detector_gain

SETTINGS = settings(deadline=None, max_examples=50)
SEEDS = st.integers(0, 2**32 - 1)
BOUNDS = st.none() | st.integers(-1200, 1200)


@contextmanager
def sizes(**changed: int) -> Iterator[None]:
    """Sizes of blocks under another value, so that short audio has many borders."""
    modules = {"level": level, "mix": block_power, "spool": spool, "gain": gain, "cut": cut_points}
    places = [(modules[name.split("_", 1)[0]], name.split("_", 1)[1]) for name in changed]
    before = [getattr(module, name) for module, name in places]
    for (module, name), value in zip(places, changed.values(), strict=True):
        setattr(module, name, value)
    try:
        yield
    finally:
        for (module, name), value in zip(places, before, strict=True):
            setattr(module, name, value)


def noise(seed: int, *shape: int) -> np.ndarray:
    """Noise whose loudness changes on the way."""
    generator = np.random.default_rng(seed)
    audio = generator.standard_normal(shape) * 0.1
    audio[shape[0] // 3 : shape[0] // 2] *= generator.choice([0.0, 0.01, 1.0, 30.0])
    return audio.astype(np.float32)


def on_disk(audio: np.ndarray) -> AudioSource:
    made = Spool()
    made.append(audio.copy())
    found = made.finish()
    assert isinstance(found, SpooledAudio)
    return found


@SETTINGS
@given(SEEDS, st.lists(st.integers(0, 300), min_size=1, max_size=8), BOUNDS, BOUNDS)
def test_spool_when_any_slice_then_that_of_the_array(
    seed: int, blocks: list[int], start: int | None, stop: int | None
) -> None:
    audio = noise(seed, max(3, sum(blocks)), 2)
    made = Spool()
    with sizes(spool_MEMORY_VALUES=0):
        position = 0
        for size in (*blocks, len(audio)):
            made.append(audio[position : position + size].copy())
            position = min(len(audio), position + size)
        found = made.finish()
    np.testing.assert_array_equal(found[start:stop], audio[start:stop])


@SETTINGS
@given(SEEDS, st.integers(1, 3), st.integers(1, 2000), st.sampled_from([8_000, 44_100, 48_000]))
def test_resample_when_blocks_end_anywhere_then_exactly_as_at_once(
    seed: int, channels: int, block: int, rate_hz: int
) -> None:
    audio = noise(seed, 4_000, channels)
    collector = ResamplingCollector()
    with sizes(spool_MEMORY_VALUES=500):
        for start in range(0, len(audio), block):
            collector.add(audio[start : start + block].copy(), rate_hz)
        found = collector.finish()
    np.testing.assert_array_equal(found[:], soxr.resample(audio, rate_hz, 16_000, quality="HQ"))


@SETTINGS
@given(
    SEEDS,
    st.integers(1, 4),
    st.integers(50, 9_000),
    st.sampled_from(["apart", "opposite", "one dead", "all dead"]),
)
def test_mix_when_on_disk_then_as_in_memory(
    seed: int, channels: int, block: int, kind: str
) -> None:
    audio = noise(seed, 8_000, channels)
    if kind == "opposite":
        audio[:, 1:] = -0.9 * audio[:, :1]
    elif kind == "one dead":
        audio[:, -1] *= 1e-6
    elif kind == "all dead":
        audio[:] = 0.0
    expected = mix_to_mono(audio)
    with sizes(spool_MEMORY_VALUES=0, spool_BLOCK_SAMPLES=block, mix_BLOCKS_AT_ONCE=2):
        found = mix_to_mono(on_disk(audio))
    assert (found.how, found.warning) == (expected.how, expected.warning)
    np.testing.assert_array_equal(found.samples[:], expected.samples[:])


@SETTINGS
@given(SEEDS, st.integers(50, 9_000), st.sampled_from([0.1, 1.0, 40.0]), st.booleans())
def test_level_when_on_disk_then_as_in_memory(
    seed: int, block: int, scale: float, has_stray: bool
) -> None:
    audio = np.clip(noise(seed, 30_000), -1.0, 1.0) * np.float32(scale)
    if has_stray:
        audio[777] = 50.0
    # The definition, on the whole array.
    peak = float(np.abs(audio).max())
    over = np.count_nonzero(np.abs(audio) > 1.0)
    if over <= 1e-4 * np.count_nonzero(audio):
        ranged = np.clip(audio, -1.0, 1.0)
    else:
        ranged = np.clip(audio * np.float32(1.0 / peak), -1.0, 1.0)
    with sizes(spool_MEMORY_VALUES=0, spool_BLOCK_SAMPLES=block):
        found, warning = bring_into_range(on_disk(audio))
    np.testing.assert_array_equal(found[:], ranged)
    assert (warning is not None) == (peak > 1.5)
    assert measure_level(found) == measure_level(ranged)


@SETTINGS
@given(SEEDS, st.integers(1, 40_000), st.integers(1, 30))
def test_gain_when_blocks_end_anywhere_then_the_same(seed: int, length: int, at_once: int) -> None:
    audio = noise(seed, length) * np.float32(0.01)
    expected = detector_gain(audio)
    with sizes(gain_BLOCKS_AT_ONCE=at_once, spool_MEMORY_VALUES=0):
        assert detector_gain(audio) == expected
        assert detector_gain(on_disk(audio)) == expected


@SETTINGS
@given(SEEDS, st.integers(0, 5_000), st.integers(2_000, 20_000), st.integers(1, 40))
def test_cuts_when_blocks_end_anywhere_then_the_same(
    seed: int, start: int, max_piece: int, at_once: int
) -> None:
    audio = noise(seed, 48_000)
    span = SampleSpan(start, 47_000)
    expected = cut_long_span(audio, span, max_piece)
    with sizes(cut_HOPS_AT_ONCE=at_once, spool_MEMORY_VALUES=0):
        assert cut_long_span(on_disk(audio), span, max_piece) == expected
