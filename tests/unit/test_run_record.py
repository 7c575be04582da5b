import platform
from pathlib import Path

from murmur_cli import __version__
from murmur_cli.run_record import run_record
from murmur_cli.settings import TranscribeSettings
from murmur_cli.types import ModelIdentity, SpeakerHints

MODEL = ModelIdentity("whisper-base", "package x 1.0", "f" * 64, "MIT")


def test_record_when_made_then_it_holds_what_shapes_the_result() -> None:
    settings = TranscribeSettings(
        chunk_s=60.0, evict="speech", evict_options={"window": "9"}, hints=SpeakerHints(maximum=4)
    )
    record = run_record(settings, (MODEL,), "cpu")
    assert (record.murmur_version, record.models, record.device) == (__version__, (MODEL,), "cpu")
    assert record.options == {
        "model": "auto",
        "chunk_s": 60.0,
        "evict": "speech",
        "evict_options": {"window": "9"},
        "kv_budget": None,
        "kv_offload": False,
        "batch_size": 16,
        "language": None,
        "task": "transcribe",
        "context": "",
        "temperature": 0.4,
        "word_times": "auto",
        "precision": "exact",
        "recognise": True,
        "diarize": True,
        "diarizer": "embedded",
        "exclusive": False,
        "hints": {"exact": None, "minimum": None, "maximum": 4},
        "enroll_threshold": 0.5,
        "channels": "auto",
        "device": "auto",
        "devices": (),
        "track": None,
    }
    assert record.versions["python"] == platform.python_version()
    assert {"torch", "numpy", "soundfile"} <= set(record.versions)


def test_record_when_results_go_elsewhere_then_the_same() -> None:
    elsewhere = TranscribeSettings(
        output_dir=Path("out"), formats=("txt",), recursive=True, allow_partial=True
    )
    assert run_record(elsewhere, (MODEL,), "cpu") == run_record(
        TranscribeSettings(), (MODEL,), "cpu"
    )


def test_record_when_no_words_are_wanted_then_options_of_recognition_are_left_out() -> None:
    record = run_record(TranscribeSettings(recognise=False), (MODEL,), "cpu")
    assert record.options == {
        "chunk_s": 300.0,
        "recognise": False,
        "diarize": True,
        "diarizer": "embedded",
        "exclusive": False,
        "hints": {"exact": None, "minimum": None, "maximum": None},
        "enroll_threshold": 0.5,
        "channels": "auto",
        "track": None,
    }
