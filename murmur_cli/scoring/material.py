"""What files say of recordings, before anything is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from murmur_cli.types import SpeakerTurn, TimeSpan


@dataclass(frozen=True, slots=True)
class Utterance:
    """Text of one speaker, None if nobody is named. Seconds from the start of the recording."""

    span: TimeSpan
    speaker: str | None
    text: str


@dataclass(frozen=True, slots=True)
class FileContent:
    """What one file says, by session id.

    Attributes:
        utterances: None if the format holds no words; an empty tuple is a session without words.
        turns: None if the format holds no turns.
        ignored: stretches that the file asks not to score.
        segmented: False if each utterance is a single word.
    """

    utterances: Mapping[str, tuple[Utterance, ...]] | None = None
    turns: Mapping[str, tuple[SpeakerTurn, ...]] | None = None
    ignored: Mapping[str, tuple[TimeSpan, ...]] = field(default_factory=dict)
    segmented: bool = True


@dataclass(frozen=True, slots=True)
class SessionMaterial:
    """All that is known of one session on one side.

    Attributes:
        session_id: as in the files, percent signs decoded.
        file_stem: name of its file without folder and ending; None if the file holds several.
        utterances: None if no file holds its words.
        turns: None if no file tells who spoke when.
        words_from: format of the words.
        turns_from: format of the turns; that of the words if the turns were made of utterances.
        turns_made: whether they were.
        ignored: stretches that are not to be scored.
        segmented: False if each utterance is a single word.
    """

    session_id: str
    file_stem: str | None
    utterances: tuple[Utterance, ...] | None
    turns: tuple[SpeakerTurn, ...] | None
    words_from: str | None
    turns_from: str | None
    ignored: tuple[TimeSpan, ...] = ()
    segmented: bool = True
    turns_made: bool = False
