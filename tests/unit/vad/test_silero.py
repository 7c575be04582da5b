"""The detector on real and made audio, and its network against the package's own model."""

import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.errors import ModelError
from murmur_cli.vad import silero_weights
from murmur_cli.vad.silero import SileroVad

RATE = 16_000
FIELD = Path(__file__).parents[3] / "../shared/data/field"


@pytest.fixture(scope="module")
def vad() -> SileroVad:
    return SileroVad()


@pytest.fixture(scope="module")
def conversation(sample_wav: Path) -> np.ndarray:
    samples, rate = soundfile.read(sample_wav, dtype="float32")
    assert rate == RATE
    return samples


def speech_s(vad: SileroVad, samples: np.ndarray) -> float:
    return sum(span.length for span in vad.detect(samples)) / RATE


def package_probabilities(samples: np.ndarray) -> np.ndarray:
    """Frame by frame, as the package does it."""
    import torch

    threads = torch.get_num_threads()
    from silero_vad import load_silero_vad

    model = load_silero_vad()
    model.reset_states()
    frames = np.pad(samples, (0, -len(samples) % 512)).reshape(-1, 512)
    with torch.inference_mode():
        found = [model(torch.from_numpy(frame), RATE).item() for frame in frames]
    torch.set_num_threads(threads)
    return np.array(found)


def test_detect_while_a_half_precision_model_loads_then_the_same(
    vad: SileroVad, conversation: np.ndarray
) -> None:
    """A library that builds such a model sets the default format of the whole process."""
    import torch

    expected = vad.detect(conversation)
    torch.set_default_dtype(torch.bfloat16)
    try:
        assert vad.detect(conversation) == expected
        assert SileroVad().detect(conversation) == expected
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # torch.jit.load, in the package
@pytest.mark.parametrize("length", [480_000, 300_001, 512, 1])
def test_network_when_real_speech_then_probabilities_of_the_package(
    conversation: np.ndarray, length: int
) -> None:
    """480,000 samples are 938 frames: almost two blocks, so the state crosses a border."""
    from murmur_cli.vad.silero_network import SileroNetwork
    from murmur_cli.vad.silero_weights import read_silero_weights

    samples = conversation[-length:]
    ours = SileroNetwork(read_silero_weights()).probabilities(samples)
    theirs = package_probabilities(samples)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 1e-4


def test_network_when_done_then_threads_as_before(vad: SileroVad) -> None:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    vad.detect(np.zeros(RATE, np.float32))
    assert torch.get_num_threads() == 2
    torch.set_num_threads(threads)


def test_detect_when_conversation_then_reference_turns_are_covered(
    vad: SileroVad, conversation: np.ndarray, sample_wav: Path
) -> None:
    heard = np.zeros(len(conversation), bool)
    for span in vad.detect(conversation):
        heard[span.start : span.end] = True
    spoken = np.zeros(len(conversation), bool)
    for line in sample_wav.with_suffix(".rttm").read_text().splitlines():
        fields = line.split()
        start, duration = float(fields[3]), float(fields[4])
        spoken[int(start * RATE) : int((start + duration) * RATE)] = True
    assert heard[spoken].mean() > 0.97
    assert heard[~spoken].mean() < 0.25
    assert not heard[: 6 * RATE].any()  # the first six seconds are silent


@pytest.mark.parametrize("factor", [0.1, 0.003, 0.0005])
def test_detect_when_speech_is_quiet_then_found_all_the_same(
    vad: SileroVad, conversation: np.ndarray, factor: float
) -> None:
    loud = speech_s(vad, conversation)
    assert speech_s(vad, conversation * np.float32(factor)) == pytest.approx(loud, abs=0.5)


def test_detect_when_no_speech_then_none(vad: SileroVad) -> None:
    noise = np.random.default_rng(0).standard_normal(20 * RATE).astype(np.float32)
    time = np.arange(20 * RATE) / RATE
    clicks = np.zeros(20 * RATE, np.float32)
    clicks[::RATE] = 0.9
    for samples in (
        np.zeros(20 * RATE, np.float32),
        noise * np.float32(1e-3),
        noise * np.float32(1e-1),
        (0.3 * np.sin(2 * np.pi * 220 * time)).astype(np.float32),
        clicks,
    ):
        assert vad.detect(samples) == ()


@pytest.mark.parametrize("length", [0, 1, 400, 512])
def test_detect_when_tiny_then_no_error(vad: SileroVad, length: int) -> None:
    assert vad.detect(np.zeros(length, np.float32)) == ()


def test_detect_when_run_twice_then_same(vad: SileroVad, conversation: np.ndarray) -> None:
    assert vad.detect(conversation) == vad.detect(conversation)


@pytest.mark.skipif(not FIELD.is_dir(), reason="needs ../shared/data/field")
@pytest.mark.parametrize(
    ("name", "at_least_s", "at_most_s"),
    [
        ("sb_noise_only.wav", 0.0, 1.0),
        ("watson_en_narrow_8k.wav", 15.0, 19.7),  # a monologue born at 8 kHz
        ("azure_mulaw.wav", 1.0, 2.0),
    ],
)
def test_detect_when_field_file_then_about_what_is_there(
    vad: SileroVad, name: str, at_least_s: float, at_most_s: float
) -> None:
    import soxr

    samples, rate = soundfile.read(FIELD / name, dtype="float32")
    assert at_least_s <= speech_s(vad, soxr.resample(samples, rate, RATE)) <= at_most_s


def test_identity_when_asked_then_release_and_hash(vad: SileroVad) -> None:
    identity = vad.identity
    assert identity.name == "silero-vad"
    assert identity.source.startswith("PyPI silero-vad 6.")
    assert len(identity.sha256) == 64
    assert identity.licence == "MIT"


def test_weights_when_package_is_missing_then_model_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(silero_weights, "MODULE", "no_such_package_at_all")
    with pytest.raises(ModelError, match="pip install silero-vad"):
        silero_weights.silero_model_path()


def test_import_when_detector_is_only_made_then_no_torch() -> None:
    import subprocess

    code = (
        "import sys, murmur_cli.vad.silero as s; s.SileroVad(); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
