import json
from pathlib import Path

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.choice import ModelKind, choose_model, prepare


def _folder(path: Path, model_type: str = "whisper", weights: tuple[str, ...] = ()) -> Path:
    path.mkdir(parents=True)
    (path / "config.json").write_text(json.dumps({"model_type": model_type}))
    for name in ("generation_config.json", "tokenizer.json"):
        (path / name).write_text("{}")
    for name in weights or ("model.safetensors",):
        (path / name).write_bytes(name.encode())
    return path


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("device", "reason"),
    [
        ("cpu", "the default without a CUDA device"),
        (
            "cuda:0",
            "until microsoft/VibeVoice-ASR-HF is fetched: murmur models pull microsoft/Vibe",
        ),
    ],
)
def test_choose_when_auto_then_embedded_base_and_the_reason(device: str, reason: str) -> None:
    choice = choose_model("auto", device)
    assert (choice.name, choice.kind) == ("whisper-base", ModelKind.EMBEDDED)
    assert reason in choice.reason


@pytest.mark.embedded
def test_choose_when_catalogue_name_then_its_case_does_not_matter() -> None:
    assert choose_model("Whisper-Tiny.EN", "cpu").name == "whisper-tiny.en"


@pytest.mark.parametrize("name", ["VibeVoice-ASR", "microsoft/VibeVoice-ASR-HF"])
def test_choose_when_speech_llm_is_not_cached_then_error_names_the_cure(name: str) -> None:
    with pytest.raises(ModelError, match="murmur models pull microsoft/VibeVoice-ASR-HF"):
        choose_model(name, "cuda:0")


def test_choose_when_name_is_misspelt_then_error_offers_the_near_one() -> None:
    with pytest.raises(ModelError, match=r"did you mean whisper-base\?"):
        choose_model("wisper-base", "cpu")


def test_choose_when_model_is_no_recogniser_then_error_says_what_it_is_for() -> None:
    with pytest.raises(ModelError, match="campplus is for speaker voices"):
        choose_model("campplus", "cpu")


def test_choose_when_hub_model_is_not_cached_then_error_names_cache_and_cure() -> None:
    with pytest.raises(ModelError, match="murmur models pull murmur-tests/none") as caught:
        choose_model("murmur-tests/none", "cpu")
    assert "HF_HOME" in str(caught.value)


def test_choose_when_folder_holds_a_whisper_then_it_is_taken(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "mine")
    choice = choose_model(str(folder), "cpu")
    assert (choice.kind, choice.location) == (ModelKind.FOLDER, folder)


def test_choose_when_folder_is_relative_then_it_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = _folder(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    for written in ("./mine", "mine"):
        assert choose_model(written, "cpu").location == folder


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "no model folder"),
        (lambda folder: (folder / "config.json").write_text("{"), "cannot be read"),
        (lambda folder: (folder / "config.json").write_text("[]"), "cannot be read"),
        (lambda folder: (folder / "config.json").write_text('{"model_type": "x1"}'), "type 'x1'"),
        (lambda folder: (folder / "tokenizer.json").unlink(), "lacks tokenizer.json"),
        (lambda folder: (folder / "model.safetensors").unlink(), "no .*safetensors"),
    ],
)  # fmt: skip
def test_choose_when_folder_lacks_something_then_error_names_it(
    tmp_path: Path, spoil: object, message: str
) -> None:
    folder = _folder(tmp_path / "mine")
    assert callable(spoil)
    spoil(folder)
    with pytest.raises(ModelError, match=message):
        choose_model(str(folder), "cpu")


def test_choose_when_a_speech_llms_config_lacks_its_parts_then_error(tmp_path: Path) -> None:
    folder = _folder(tmp_path / "mine", "vibevoice_asr")
    with pytest.raises(ModelError, match="does not describe the text model of a VibeVoice-ASR"):
        choose_model(str(folder), "cpu")
    config = {"model_type": "vibevoice_asr", "text_config": {}}
    (folder / "config.json").write_text(json.dumps(config))
    assert choose_model(str(folder), "cpu").model_type == "vibevoice_asr"


def test_choose_when_folder_is_absent_then_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no such folder"):
        choose_model(str(tmp_path / "none"), "cpu")


def test_prepare_when_weights_are_one_file_then_identity_is_its_hash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    folder = _folder(tmp_path / "mine")
    (folder / "model.safetensors").write_bytes(b"abc")
    identity = prepare(choose_model(str(folder), "cpu")).identity
    assert identity.sha256 == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_prepare_when_weights_are_shards_then_identity_depends_on_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    shards = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    folder = _folder(tmp_path / "mine", weights=shards)
    first = prepare(choose_model(str(folder), "cpu")).identity.sha256
    (folder / shards[1]).write_bytes(b"changed")
    second = prepare(choose_model(str(folder), "cpu")).identity.sha256
    assert first != second
