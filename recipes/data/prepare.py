"""A corpus on disk -> audio files and references, in the same two folders for all corpora.

`FOLDER/audio/SESSION.*` and `FOLDER/references/SESSION.stm` (and `.rttm`). A folder of kind 'ready'
has recordings with NAME.stm and NAME.rttm beside them and is taken as it is.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from data import ami_nxt, earnings21_nlp, librispeech_long, mls_long, tedlium_stm
from data.corpus import SESSION, Corpus
from data.fetch import FetchError, fetch, fetch_archives
from murmur_cli.audio.discover import find_inputs
from murmur_cli.errors import UsageError

AUDIO, REFERENCES, SOURCE = "audio", "references", "source"
LFS_POINTER = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is transcribed and what it is scored against.

    `sessions` is the test list; `missing` are those of it that have no audio here.
    """

    sessions: tuple[str, ...]
    audio: tuple[Path, ...]
    references: Path
    missing: tuple[str, ...] = ()


def get(corpus: Corpus, folder: Path) -> None:
    """Fetch what a corpus needs; what is there is not fetched again.

    Raises:
        FetchError: something cannot be had.
    """
    if corpus.by_hand and not (folder / SOURCE).is_dir():
        raise FetchError(f"to be fetched by hand: {corpus.by_hand}, into {folder / SOURCE}")
    if corpus.kind == READY:
        if not folder.is_dir():
            raise FetchError(f"{corpus.corpus}: no folder {folder}; name another one")
        return
    for url, place in audio_files(corpus, folder).items():
        fetch(url, place)
    fetch_archives(corpus.archives, folder / SOURCE, corpus.sha256)


def audio_files(corpus: Corpus, folder: Path) -> dict[str, Path]:
    """URL → place of the recordings that have one each; none if they are in an archive."""
    if not corpus.audio_url:
        return {}
    return {
        corpus.audio_url.replace(SESSION, session): folder
        / AUDIO
        / corpus.audio_name.replace(SESSION, session)
        for session in corpus.sessions
    }


def prepare(corpus: Corpus, folder: Path) -> Prepared:
    """Make the references, and say which files are to be transcribed.

    Raises:
        UsageError: the corpus is not laid out as it should be.
    """
    if corpus.kind not in KINDS:
        raise UsageError(f"data.kind {corpus.kind}: known are {', '.join(KINDS)}")
    return KINDS[corpus.kind](corpus, folder)


def _ready(corpus: Corpus, folder: Path) -> Prepared:
    """A recording without a reference is left alone."""
    inputs = [
        source
        for source in find_inputs([folder], recursive=False)
        if source.path.with_suffix(".stm").is_file()
    ]
    if not inputs:
        raise UsageError(f"{folder}: no recording with NAME.stm beside it")
    return Prepared(
        tuple(source.session_id for source in inputs),
        tuple(source.path for source in inputs),
        folder,
    )


def _ami(corpus: Corpus, folder: Path) -> Prepared:
    references = _emptied(folder)
    for meeting in corpus.sessions:
        ami_nxt.write_references(folder / SOURCE, meeting, references)
    return _listed(corpus, folder, corpus.sessions)


def _tedlium(corpus: Corpus, folder: Path) -> Prepared:
    """`TEDLIUM_release-3/legacy/test/{stm,sph}`."""
    test = _only(folder / SOURCE, "**/legacy/test", "TEDLIUM_release-3/legacy/test")
    references = _emptied(folder)
    for talk in corpus.sessions:
        tedlium_stm.write_references(test / "stm" / f"{talk}.stm", references)
        _link(test / "sph" / f"{talk}.sph", folder / AUDIO)
    return _listed(corpus, folder, corpus.sessions)


def _earnings21(corpus: Corpus, folder: Path) -> Prepared:
    """`speech-datasets/earnings21/{media,transcripts/nlp_references}`."""
    root = _only(folder / SOURCE, "**/earnings21", "speech-datasets/earnings21")
    references = _emptied(folder)
    tables = sorted((root / "transcripts" / "nlp_references").glob("*.nlp"))
    for table in tables:
        earnings21_nlp.write_references(table, references)
        for media in sorted((root / "media").glob(f"{table.stem}.*")):
            _refuse_pointer(media)
            _link(media, folder / AUDIO)
    return _listed(corpus, folder, [table.stem for table in tables])


def _librispeech_long(corpus: Corpus, folder: Path) -> Prepared:
    split = _only(folder / SOURCE, "**/test-clean", "librispeech-long/test-clean")
    references = _emptied(folder)
    found = librispeech_long.recordings(split)
    for recording in found:
        librispeech_long.write_references(recording, references)
        _link(recording, folder / AUDIO)
    return _listed(corpus, folder, [recording.stem for recording in found])


def _mls_long(corpus: Corpus, folder: Path) -> Prepared:
    texts = _only(folder / SOURCE, "**/test/transcripts.txt", "mls_LANGUAGE/test/transcripts.txt")
    names = mls_long.prepare(texts.parent, folder / AUDIO, _emptied(folder))
    return _listed(corpus, folder, names)


READY = "ready"
KINDS: dict[str, Callable[[Corpus, Path], Prepared]] = {
    READY: _ready,
    "ami": _ami,
    "tedlium": _tedlium,
    "earnings21": _earnings21,
    "librispeech-long": _librispeech_long,
    "mls-long": _mls_long,
}


def _listed(corpus: Corpus, folder: Path, sessions: Sequence[str]) -> Prepared:
    """The audio of the sessions; those without are missing, and stay in the test list."""
    if not sessions:
        raise UsageError(f"{corpus.corpus}: no session in {folder / SOURCE}")
    there = {path.stem: path for path in sorted((folder / AUDIO).glob("*")) if path.is_file()}
    return Prepared(
        tuple(sessions),
        tuple(there[session] for session in sessions if session in there),
        folder / REFERENCES,
        tuple(session for session in sessions if session not in there),
    )


def _emptied(folder: Path) -> Path:
    """A new folder for references: what an earlier list left there would be scored, too."""
    references = folder / REFERENCES
    if references.is_dir():
        shutil.rmtree(references)
    references.mkdir(parents=True)
    return references


def _only(folder: Path, pattern: str, words: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise UsageError(f"{folder}: {len(found)} of {words} in it; one is needed")
    return found[0]


def _refuse_pointer(path: Path) -> None:
    """Raises FetchError for what Git leaves in place of a large file that was not fetched."""
    with path.open("rb") as file:
        if file.read(len(LFS_POINTER)) == LFS_POINTER:
            raise FetchError(
                f"{path} is a pointer of Git LFS and no audio: git lfs install, then git -C "
                f"{path.parent} lfs pull"
            )


def _link(path: Path, folder: Path) -> None:
    """The file in `folder`, without a copy; one that is not there stays missing."""
    if path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        place = folder / path.name
        if not place.exists():
            place.symlink_to(path.absolute())
