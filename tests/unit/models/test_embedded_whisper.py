"""The packaged Whisper networks, converted into a cache of the test's own."""

import dataclasses
import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.embedded_whisper import (
    MANIFEST_NAME,
    WHISPER_SOURCES,
    converted_folder,
    embedded_whisper,
    usable_source,
)

FILES = {
    "config.json",
    "generation_config.json",
    "preprocessor_config.json",
    "tokenizer.json",
    "model.safetensors",
    MANIFEST_NAME,
}
TINY = "whisper-tiny.en"

pytestmark = pytest.mark.embedded


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    ("name", "sizes", "multilingual"),
    [
        ("whisper-base", (51_865, 512, 6, 8, 2048), True),
        (TINY, (51_864, 384, 4, 6, 1536), False),
    ],
)
def test_embedded_when_converted_then_transformers_loads_every_tensor(
    cache: Path, name: str, sizes: tuple[int, ...], multilingual: bool
) -> None:
    from transformers import WhisperForConditionalGeneration

    folder = embedded_whisper(name)
    assert {path.name for path in folder.path.iterdir()} == FILES
    assert folder.identity.sha256 == WHISPER_SOURCES[name][0].sha256
    assert folder.identity.licence == "MIT"
    model, report = WhisperForConditionalGeneration.from_pretrained(
        folder.path, local_files_only=True, output_loading_info=True
    )
    assert not any(report.values()), report
    config = model.config
    # Sizes of OpenAI's base and tiny.en (arXiv:2212.04356, table 1)
    assert (
        config.vocab_size,
        config.d_model,
        config.decoder_layers,
        config.decoder_attention_heads,
        config.decoder_ffn_dim,
    ) == sizes
    assert (config.num_mel_bins, config.max_source_positions) == (80, 1500)
    assert model.generation_config.is_multilingual is multilingual


def test_embedded_when_base_is_multilingual_then_ids_are_those_of_openai(cache: Path) -> None:
    folder = embedded_whisper("whisper-base").path
    made = json.loads((folder / "generation_config.json").read_text(encoding="utf-8"))
    # openai/whisper, tokenizer.py: multilingual vocabulary
    assert made["decoder_start_token_id"] == 50258
    assert made["no_timestamps_token_id"] == 50363
    assert made["task_to_id"] == {"transcribe": 50359, "translate": 50358}
    assert made["lang_to_id"]["<|en|>"] == 50259
    assert made["lang_to_id"]["<|su|>"] == 50357
    assert len(made["lang_to_id"]) == 99


def test_embedded_when_called_again_then_nothing_is_converted(cache: Path) -> None:
    folder = embedded_whisper(TINY).path
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert embedded_whisper(TINY).path == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


def test_embedded_when_two_processes_convert_at_once_then_both_succeed(cache: Path) -> None:
    code = (
        "from murmur_cli.models.embedded_whisper import embedded_whisper\n"
        f"print(embedded_whisper({TINY!r}).path)"
    )
    runs = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    outputs = [run.communicate()[0].strip() for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[0] == outputs[1]
    assert [path.name for path in (cache / "models").iterdir()] == [Path(outputs[0]).name]


@pytest.mark.parametrize("victim", ["model.safetensors", "tokenizer.json"])
def test_embedded_when_a_converted_file_is_damaged_then_error_names_it(
    cache: Path, victim: str
) -> None:
    path = embedded_whisper(TINY).path / victim
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=f"{re.escape(str(path))} has SHA-256 .* delete"):
        embedded_whisper(TINY)


@pytest.mark.parametrize("victim", ["model.safetensors", MANIFEST_NAME])
def test_embedded_when_a_converted_file_is_missing_then_error_says_how_to_mend(
    cache: Path, victim: str
) -> None:
    (embedded_whisper(TINY).path / victim).unlink()
    with pytest.raises(ModelError, match=r"damaged .* delete the folder"):
        embedded_whisper(TINY)


def test_embedded_when_cache_cannot_be_written_then_error_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "file"))
    with pytest.raises(ModelError, match="set MURMUR_CACHE"):
        embedded_whisper(TINY)


def test_embedded_when_name_is_unknown_then_error_lists_the_known() -> None:
    with pytest.raises(ModelError, match=r"known: whisper-base, whisper-tiny\.en"):
        embedded_whisper("whisper-huge")


def test_source_when_second_is_converted_and_first_installed_then_converted_wins(
    cache: Path,
) -> None:
    second = WHISPER_SOURCES["whisper-base"][1]
    assert usable_source("whisper-base") is WHISPER_SOURCES["whisper-base"][0]
    converted_folder("whisper-base", second).mkdir(parents=True)
    assert usable_source("whisper-base") is second


def test_embedded_when_no_package_is_installed_then_error_says_how_to_get_them(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = WHISPER_SOURCES[TINY][0]
    absent = dataclasses.replace(source, parts=(("murmur_absent_package", "model.bin"),))
    monkeypatch.setitem(WHISPER_SOURCES, TINY, (absent,))
    with pytest.raises(ModelError, match=r"pip install 'murmur-asr\[embedded\]'"):
        embedded_whisper(TINY)


def test_embedded_when_packaged_bytes_differ_then_error_names_both_hashes(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = WHISPER_SOURCES[TINY][0]
    wrong = dataclasses.replace(source, sha256="0" * 64)
    monkeypatch.setitem(WHISPER_SOURCES, TINY, (wrong,))
    with pytest.raises(ModelError, match=f"has SHA-256 {source.sha256}, expected {'0' * 64}"):
        embedded_whisper(TINY)
    assert list((cache / "models").iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [("whisper-base", {"language": "en", "task": "transcribe"}), (TINY, {})],
)
def test_embedded_when_it_hears_the_sample_then_text_is_what_was_said(
    sample_wav: Path, name: str, options: dict[str, str]
) -> None:
    import soundfile
    import torch
    from transformers import (
        AutoTokenizer,
        WhisperFeatureExtractor,
        WhisperForConditionalGeneration,
    )

    folder = embedded_whisper(name).path
    model = WhisperForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    samples, rate_hz = soundfile.read(sample_wav, dtype="float32")
    extract = WhisperFeatureExtractor.from_pretrained(folder)
    features = extract(samples, sampling_rate=rate_hz, return_tensors="pt").input_features
    tokens = model.generate(features, do_sample=False, num_beams=1, **options)
    text = AutoTokenizer.from_pretrained(folder).decode(tokens[0], skip_special_tokens=True).lower()
    for phrase in ("i didn't know you were there", "originally from chicago", "new jersey now"):
        assert phrase in text


def test_packages_when_looked_for_then_they_are_not_imported(cache: Path) -> None:
    module = WHISPER_SOURCES[TINY][0].parts[0][0]
    assert importlib.util.find_spec(module) is not None
    usable_source(TINY)
    assert module not in sys.modules
