import pytest

from murmur_cli.models.catalog import CATALOG, Availability, Purpose, availability, find_entry
from murmur_cli.models.weights import PACKAGED_FILES


def test_catalogue_when_listed_then_names_are_unique() -> None:
    names = [entry.name for entry in CATALOG]
    assert len(set(names)) == len(names)


def test_catalogue_when_weights_are_packaged_then_every_one_is_listed() -> None:
    assert {entry.name for entry in CATALOG} >= set(PACKAGED_FILES)


def test_find_when_hub_id_is_given_then_the_entry_comes() -> None:
    entry = find_entry("microsoft/vibevoice-asr-hf")
    assert entry is not None
    assert (entry.name, entry.memory_gb) == ("VibeVoice-ASR", 24)
    assert find_entry("nothing") is None


def test_availability_when_not_cached_then_it_says_so() -> None:
    states = {entry.name: availability(entry) for entry in CATALOG}
    assert states["VibeVoice-ASR"] == Availability(False, "needs hub")
    assert states["silero-vad"] == Availability(True)


@pytest.mark.embedded
def test_availability_when_extra_is_installed_then_all_packaged_models_are_usable() -> None:
    packaged = [entry for entry in CATALOG if entry.hub_id is None]
    assert {entry.purpose for entry in packaged} == set(Purpose)
    assert all(availability(entry).usable for entry in packaged)
