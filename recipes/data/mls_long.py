"""MLS-long: long recordings of one reader, joined from Multilingual LibriSpeech's utterances.

The corpus' test sets hold utterances of 10 to 20 s: `audio/READER/BOOK/READER_BOOK_NNNNNN.opus`
(or `.flac`) with lines 'READER_BOOK_NNNNNN<tab>TEXT' in `transcripts.txt`. Those of one reader and
book are joined in their order, half a second apart, until five minutes are full. No list of such
recordings is published that we know of, so figures compare only with those of the same script.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from data.reference_file import Spoken, write_stm
from murmur_cli.errors import UsageError

LONGEST_S = 300.0
PAUSE_S = 0.5


def read_texts(path: Path) -> dict[str, str]:
    """Name of an utterance → text, in the file's order.

    Raises:
        UsageError: it cannot be read, or a line has no tab.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    texts = {}
    for number, line in enumerate(lines, start=1):
        name, tab, text = line.partition("\t")
        if not tab:
            raise UsageError(f"{path} line {number}: not NAME<tab>TEXT")
        texts[name] = text.strip()
    return texts


def book_of(name: str) -> str:
    """READER_BOOK of an utterance."""
    return name.rpartition("_")[0]


def groups(lengths_s: dict[str, float]) -> Iterator[tuple[str, ...]]:
    """Utterances of one book, in order, as many as five minutes hold with the pauses."""
    for _, names in groupby(sorted(lengths_s), key=book_of):
        held: list[str] = []
        total_s = 0.0
        for name in names:
            added_s = lengths_s[name] + (PAUSE_S if held else 0.0)
            if held and total_s + added_s > LONGEST_S:
                yield tuple(held)
                held, added_s, total_s = [], lengths_s[name], 0.0
            held.append(name)
            total_s += added_s
        yield tuple(held)


def write_recording(
    source: Path, names: Sequence[str], texts: dict[str, str], audio: Path, references: Path
) -> Path:
    """Join utterances into one FLAC file named after the first, and write its reference.

    Raises:
        UsageError: the utterances differ in sample rate.
    """
    import soundfile

    parts: list[np.ndarray] = []
    spoken: list[Spoken] = []
    rate_hz, at = 0, 0
    for name in names:
        samples, found_hz = soundfile.read(_audio(source, name), dtype="float32")
        rate_hz = rate_hz or found_hz
        if found_hz != rate_hz:
            raise UsageError(f"{name}: {found_hz} Hz, the others have {rate_hz} Hz")
        if parts:
            pause = np.zeros(round(PAUSE_S * rate_hz), np.float32)
            parts.append(pause)
            at += len(pause)
        reader = name.partition("_")[0]
        end = at + len(samples)
        spoken.append(Spoken(at / rate_hz, end / rate_hz, reader, texts[name]))
        parts.append(samples)
        at = end
    audio.mkdir(parents=True, exist_ok=True)
    path = audio / f"{names[0]}.flac"
    soundfile.write(path, np.concatenate(parts), rate_hz)
    write_stm(references, names[0], spoken)
    return path


def prepare(source: Path, audio: Path, references: Path) -> list[str]:
    """Make all recordings of a test set; returns their names.

    Raises:
        UsageError: texts or utterances are missing or damaged.
    """
    import soundfile

    texts = read_texts(source / "transcripts.txt")
    lengths_s = {}
    for name in texts:
        path = _audio(source, name)
        if not path.is_file():
            raise UsageError(f"{path}: not there")
        lengths_s[name] = soundfile.info(str(path)).duration
    made = list(groups(lengths_s))
    for names in made:
        write_recording(source, names, texts, audio, references)
    return [names[0] for names in made]


def _audio(source: Path, name: str) -> Path:
    reader, book, _ = name.split("_")
    folder = source / "audio" / reader / book
    opus = folder / f"{name}.opus"
    return opus if opus.is_file() else folder / f"{name}.flac"
