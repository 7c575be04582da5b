"""Mono mix of channels with known signals."""

import numpy as np

from murmur_cli.audio.mono_mix import mix_to_mono

RATE = 16_000


def sine(frequency_hz: float, seconds: float = 1.0, peak: float = 0.5) -> np.ndarray:
    time = np.arange(int(seconds * RATE)) / RATE
    return (peak * np.sin(2 * np.pi * frequency_hz * time)).astype(np.float32)


def test_mix_when_one_channel_then_unchanged() -> None:
    mix = mix_to_mono(sine(100)[:, None])
    assert mix.how == "mono"
    assert mix.warning is None
    np.testing.assert_array_equal(mix.samples, sine(100))


def test_mix_when_two_voices_then_mean() -> None:
    mix = mix_to_mono(np.stack([sine(100), sine(300)], axis=1))
    assert mix.how == "mean"
    assert mix.warning is None
    np.testing.assert_allclose(mix.samples, (sine(100) + sine(300)) / 2, atol=1e-6)


def test_mix_when_right_is_silent_then_left_at_full_level() -> None:
    mix = mix_to_mono(np.stack([sine(100), np.zeros(RATE, np.float32)], axis=1))
    assert mix.how == "left"
    np.testing.assert_array_equal(mix.samples, sine(100))


def test_mix_when_left_has_only_faint_noise_then_right() -> None:
    noise = 1e-4 * np.random.default_rng(0).standard_normal(RATE).astype(np.float32)
    assert mix_to_mono(np.stack([noise, sine(100)], axis=1)).how == "right"


def test_mix_when_second_voice_is_rare_and_quiet_then_kept() -> None:
    quiet = np.zeros(60 * RATE, np.float32)
    quiet[RATE : 2 * RATE] = sine(300, peak=0.02)
    mix = mix_to_mono(np.stack([sine(100, seconds=60), quiet], axis=1))
    assert mix.how == "mean"


def test_mix_when_in_opposite_phase_then_louder_channel_with_warning() -> None:
    mix = mix_to_mono(np.stack([sine(100), -0.9 * sine(100)], axis=1))
    assert mix.how == "left"
    assert mix.warning is not None
    assert "opposite phase" in mix.warning
    np.testing.assert_array_equal(mix.samples, sine(100))


def test_mix_when_only_part_is_in_opposite_phase_then_found() -> None:
    left, right = sine(100, seconds=10), sine(100, seconds=10)
    right[: 2 * RATE] *= -1.05
    mix = mix_to_mono(np.stack([left, right], axis=1))
    assert mix.how == "right"
    assert mix.warning is not None


def test_mix_when_six_channels_and_one_live_then_named_by_number() -> None:
    channels = np.zeros((RATE, 6), np.float32)
    channels[:, 2] = sine(100)
    assert mix_to_mono(channels).how == "channel 3"


def test_mix_when_all_silent_then_silence_without_warning() -> None:
    mix = mix_to_mono(np.zeros((RATE, 2), np.float32))
    assert mix.warning is None
    assert not mix.samples.any()
