"""TED-LIUM 3: references from the corpus' own STM files.

The corpus writes contractions apart (`it 's`), which become one word again, and `<unk>` for
noises, which is dropped. Stretches that it marks `ignore_time_segment_in_scoring` stay marked: they
are not scored. All words of a talk are by its speaker.
"""

from __future__ import annotations

import re
from pathlib import Path

from murmur_cli.errors import UsageError
from murmur_cli.writers.output import write_whole

IGNORED = "ignore_time_segment_in_scoring"

_CLITIC = re.compile(r" (?='(?:s|d|m|t|ll|re|ve|em)\b)")
_UNKNOWN = re.compile(r"<unk>")
_LABEL = re.compile(r"^<[^>]*>\s*")


def converted(line: str) -> str | None:
    """A line of the corpus as a line of ours; None for a comment.

    Raises:
        UsageError: it has too few fields.
    """
    if not line.strip() or line.startswith(";;"):
        return None
    fields = line.split(maxsplit=5)
    if len(fields) < 6:
        raise UsageError(f"not a line of TED-LIUM's STM: {line.strip()[:60]}")
    session, channel, speaker, start, end, rest = fields
    text = _LABEL.sub("", rest)
    if text.strip() != IGNORED:
        text = _CLITIC.sub("", " ".join(_UNKNOWN.sub(" ", text).split()))
    return f"{session} {channel} {speaker} {start} {end} {text.strip()}".rstrip()


def write_references(source: Path, folder: Path) -> Path:
    """Write the file of one talk under its name.

    Raises:
        UsageError: it cannot be read, or is not in the corpus' form.
    """
    try:
        lines = source.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise UsageError(f"{source}: cannot be read ({error.strerror})") from error
    kept = [made for line in lines if (made := converted(line)) is not None]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.name
    write_whole(path, "".join(f"{line}\n" for line in kept).encode("utf-8"))
    return path
