"""Known voices of a run: from clips and from files of voices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.path_text import path_text
from murmur_cli.enrolment.clip import hear_clip
from murmur_cli.enrolment.request import ClipRequest, EnrolRequest
from murmur_cli.errors import RecordingError, UsageError
from murmur_cli.stages import Stages
from murmur_cli.types import KnownVoice, KnownVoices, ModelIdentity, VoiceClip


@dataclass(frozen=True, slots=True)
class Failed:
    """A clip that gave no voice, and why in one line that names it."""

    request: ClipRequest
    reason: str


def enrol(
    request: EnrolRequest, stages: Stages, warn: Callable[[str], None]
) -> tuple[KnownVoices | None, tuple[Failed, ...]]:
    """The voices of all clips and files together, and the clips that gave none.

    Clips of one name are kept side by side; the same clip twice counts once. None if no voice
    is left.

    Raises:
        UsageError: a file of voices is of other weights, or they differ in length.
        ModelError: a stage cannot be loaded.
    """
    assert stages.diarizer is not None
    model = stages.diarizer.get().voice_model
    named: list[tuple[str, VoiceClip]] = []
    for path, known in request.stored:
        _check_model(path, known.model, model)
        named += [(voice.name, clip) for voice in known.voices for clip in voice.clips]
    failed: list[Failed] = []
    for one in request.clips:
        try:
            heard = hear_clip(one.path, stages)
        except RecordingError as error:
            failed.append(Failed(one, str(error)))
            continue
        named.append((one.name, heard.clip))
        for line in heard.warnings:
            warn(f"{path_text(one.path)}: {line}")
    if not named:
        return None, tuple(failed)
    _check_lengths(named)
    return KnownVoices(model, gather(named)), tuple(failed)


def gather(named: Iterable[tuple[str, VoiceClip]]) -> tuple[KnownVoice, ...]:
    """Voices in order of name, their clips in order of hash."""
    by_name: dict[str, dict[str, VoiceClip]] = {}
    for name, clip in named:
        by_name.setdefault(name, {})[clip.sha256] = clip
    return tuple(
        KnownVoice(name, tuple(clips[key] for key in sorted(clips)))
        for name, clips in sorted(by_name.items())
    )


def refuse_failed(failed: Sequence[Failed]) -> None:
    """End a run that was to know a voice and does not.

    Raises:
        UsageError: there is one.
    """
    if failed:
        one = failed[0]
        raise UsageError(f"--enroll {one.request.name}={one.reason}")


def _check_lengths(named: Sequence[tuple[str, VoiceClip]]) -> None:
    lengths = sorted({clip.embedding.size for _, clip in named})
    if len(lengths) > 1:
        raise UsageError(
            f"--enroll: voices of {' and '.join(map(str, lengths))} numbers do not go together; a"
            " file of voices is damaged: enrol its clips again"
        )


def _check_model(path: Path, stored: ModelIdentity, model: ModelIdentity) -> None:
    if stored.sha256 != model.sha256:
        raise UsageError(
            f"{path_text(path)}: its voices were made with {stored.name} ({stored.sha256[:12]}…),"
            f" this run uses {model.name} ({model.sha256[:12]}…); enrol the clips again"
        )
