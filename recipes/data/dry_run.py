"""What a recipe of a corpus would do, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from data.corpus import Corpus
from data.fetch import archive_place, unpacked_mark
from data.prepare import AUDIO, READY, REFERENCES, SOURCE, audio_files


def dry_lines(corpus: Corpus, data: Path, calls: Sequence[Sequence[str]]) -> Iterator[str]:
    """What is fetched or here already, the test list, and the calls of the program, a line each."""
    yield f"{corpus.corpus} ({corpus.licence}), {corpus.page}"
    if corpus.kind == READY:
        yield f"{_state(data, 'missing')}: {data}"
    if corpus.by_hand:
        yield f"{_state(data / SOURCE, 'by hand')}: {corpus.by_hand}, into {data / SOURCE}"
    for url, place in audio_files(corpus, data).items():
        yield f"{_state(place, 'fetch')}: {url} to {place}"
    for url in corpus.archives:
        place = archive_place(url, data / SOURCE)
        there = unpacked_mark(place) if unpacked_mark(place).exists() else place
        yield f"{_state(there, 'fetch')}: {url} to {place}"
    listed = ", ".join(corpus.sessions) or "every recording with a reference"
    number = f"{corpus.expected} sessions" if corpus.expected else "sessions"
    yield f"{number}: {listed}"
    if corpus.kind != READY:
        yield f"made: {data / REFERENCES} by kind '{corpus.kind}', {data / AUDIO}"
    for call in calls:
        yield " ".join(call)


def _state(place: Path, otherwise: str) -> str:
    return "here" if place.exists() else otherwise
