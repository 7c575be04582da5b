"""The models that Murmur knows by name, and whether they can be used here without a network."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from murmur_cli.errors import ModelError
from murmur_cli.models.embedded_whisper import WHISPER_LICENCE, WHISPER_SOURCES, usable_source
from murmur_cli.models.hub import PYANNOTE_PIPELINE, cached_snapshot
from murmur_cli.models.weights import EMBEDDED_INSTALL, PACKAGED_FILES, locate


class Purpose(StrEnum):
    """What a model is for."""

    RECOGNISER = "recogniser"
    VAD = "voice activity"
    SEGMENTATION = "speaker turns"
    EMBEDDING = "speaker voices"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One known model.

    Attributes:
        name: for `--model`, if a recogniser.
        source: packages, or the hub, in words.
        licence: of the weights; SPDX where there is one.
        size_mb: of the weights in 10^6 bytes, rounded.
        languages: in words.
        note: one line for a reader who chooses.
        hub_id: repository, if it comes from the hub.
        memory_gb: least memory of the device, in 10^9 bytes, with room for some slots; None
            where any machine will do.
    """

    name: str
    purpose: Purpose
    source: str
    licence: str
    size_mb: int
    languages: str
    note: str
    hub_id: str | None = None
    memory_gb: int | None = None


@dataclass(frozen=True, slots=True)
class Availability:
    """`usable` is True if a run could use the model now, offline; else `cure` says what to do."""

    usable: bool
    cure: str = ""


def _packaged(name: str, purpose: Purpose, size_mb: int, note: str) -> CatalogEntry:
    spec = PACKAGED_FILES[name]
    source = f"package {spec.requirement}"
    return CatalogEntry(name, purpose, source, spec.licence, size_mb, "any", note)


def _speech_llm(
    name: str,
    hub_id: str,
    *,
    licence: str,
    size_mb: int,
    memory_gb: int,
    languages: str,
    note: str,
) -> CatalogEntry:
    return CatalogEntry(
        name, Purpose.RECOGNISER, "model hub", licence, size_mb, languages, note, hub_id, memory_gb
    )


CATALOG: tuple[CatalogEntry, ...] = (
    CatalogEntry(
        name="whisper-base",
        purpose=Purpose.RECOGNISER,
        source=WHISPER_SOURCES["whisper-base"][0].description,
        licence=WHISPER_LICENCE,
        size_mb=145,
        languages="99",
        note="the default",
    ),
    CatalogEntry(
        name="whisper-tiny.en",
        purpose=Purpose.RECOGNISER,
        source=WHISPER_SOURCES["whisper-tiny.en"][0].description,
        licence=WHISPER_LICENCE,
        size_mb=76,
        languages="English",
        note="about twice as fast as whisper-base, more errors",
    ),
    CatalogEntry(
        name="openai/whisper-small",
        purpose=Purpose.RECOGNISER,
        source="model hub",
        licence="Apache-2.0",
        size_mb=967,
        languages="99",
        note="any other Whisper of the hub, or a local folder, works too",
        hub_id="openai/whisper-small",
    ),
    CatalogEntry(
        name="openai/whisper-large-v3-turbo",
        purpose=Purpose.RECOGNISER,
        source="model hub",
        licence="MIT",
        size_mb=1_618,
        languages="100",
        note="wants a GPU",
        hub_id="openai/whisper-large-v3-turbo",
    ),
    _speech_llm(
        "VibeVoice-ASR",
        "microsoft/VibeVoice-ASR-HF",
        licence="MIT",
        size_mb=17_300,
        memory_gb=24,
        languages="over 50",
        note="text, times and speakers in one; the default on a GPU once it is fetched",
    ),
    _speech_llm(
        "Voxtral-Mini-3B",
        "mistralai/Voxtral-Mini-3B-2507",
        licence="Apache-2.0",
        size_mb=9_400,
        memory_gb=16,
        languages="8",
        note="text; speakers by the local diarizer",
    ),
    _speech_llm(
        "Qwen2.5-Omni-3B",
        "Qwen/Qwen2.5-Omni-3B",
        licence="Qwen research licence",
        size_mb=11_000,
        memory_gb=16,
        languages="English, Chinese and others",
        note="text; its thinker only; speakers by the local diarizer",
    ),
    _speech_llm(
        "Qwen3-Omni-30B-A3B",
        "Qwen/Qwen3-Omni-30B-A3B-Instruct",
        licence="Apache-2.0",
        size_mb=70_500,
        memory_gb=80,
        languages="19",
        note="text; its thinker only; speakers by the local diarizer",
    ),
    _speech_llm(
        "Gemma-4-E4B",
        "google/gemma-4-E4B-it",
        licence="Apache-2.0",
        size_mb=16_000,
        memory_gb=24,
        languages="over 35",
        note="text; speakers by the local diarizer",
    ),
    _speech_llm(
        "Qwen3-ASR-1.7B",
        "Qwen/Qwen3-ASR-1.7B",
        licence="Apache-2.0",
        size_mb=4_700,
        memory_gb=8,
        languages="30",
        note="text; speakers by the local diarizer",
    ),
    _speech_llm(
        "Granite-Speech-3.3-8B",
        "ibm-granite/granite-speech-3.3-8b",
        licence="Apache-2.0",
        size_mb=17_300,
        memory_gb=24,
        languages="5",
        note="text; speakers by the local diarizer",
    ),
    _packaged("silero-vad", Purpose.VAD, 2, "finds speech"),
    _packaged("segmentation-3.0", Purpose.SEGMENTATION, 6, "who speaks when, inside a chunk"),
    _packaged("campplus", Purpose.EMBEDDING, 28, "same voice in other chunks"),
    CatalogEntry(
        name="pyannote",
        purpose=Purpose.SEGMENTATION,
        source="model hub, gated",
        licence="CC-BY-4.0",
        size_mb=33,
        languages="any",
        note="pyannote.audio's own pipeline, for --diarizer pyannote",
        hub_id=PYANNOTE_PIPELINE,
    ),
)


def find_entry(name: str) -> CatalogEntry | None:
    """The entry with this name or hub id, whatever the case of letters; None if unknown."""
    wanted = name.lower()
    for entry in CATALOG:
        if wanted == entry.name.lower() or (entry.hub_id and wanted == entry.hub_id.lower()):
            return entry
    return None


def availability(entry: CatalogEntry) -> Availability:
    """Whether a model can be used now without a network. Looks for files, reads no weights."""
    if entry.hub_id is not None:
        if cached_snapshot(entry.hub_id) is not None:
            return Availability(True)
        return Availability(False, "needs hub")
    if entry.name in WHISPER_SOURCES:
        there = usable_source(entry.name) is not None
        return Availability(there, "" if there else EMBEDDED_INSTALL)
    try:
        locate(entry.name, PACKAGED_FILES[entry.name])
    except ModelError:
        return Availability(False, PACKAGED_FILES[entry.name].install)
    return Availability(True)
