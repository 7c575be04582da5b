"""LibriSpeech-Long (LS-Long): recordings of up to four minutes, each with its text.

A recording SPEAKER/CHAPTER/NAME.flac has its text in NAME.txt beside it, or in a line 'NAME TEXT'
of SPEAKER-CHAPTER.trans.txt. There are no times inside a recording: its text is one utterance.
"""

from __future__ import annotations

from pathlib import Path

from data.reference_file import Spoken, write_stm
from murmur_cli.errors import UsageError


def recordings(split: Path) -> list[Path]:
    """All recordings of a split, in order of their names."""
    return sorted(split.glob("*/*/*.flac"))


def text_of(recording: Path) -> str:
    """What is said in it.

    Raises:
        UsageError: there is no text.
    """
    own = recording.with_suffix(".txt")
    if own.is_file():
        return " ".join(own.read_text(encoding="utf-8").split())
    for path in sorted(recording.parent.glob("*.trans.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            name, _, text = line.partition(" ")
            if name == recording.stem:
                return " ".join(text.split())
    raise UsageError(f"{recording}: no text beside it")


def write_references(recording: Path, folder: Path) -> Path:
    """Write the text of one recording.

    Raises:
        UsageError: see `text_of`.
    """
    import soundfile

    length_s = soundfile.info(str(recording)).duration
    reader = recording.stem.partition("-")[0]
    spoken = Spoken(0.0, length_s, reader, text_of(recording))
    return write_stm(folder, recording.stem, [spoken])
