"""One clip of a person -> the person's voice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.path_text import path_text
from murmur_cli.audio.reader import read_recording
from murmur_cli.chunking.plan import plan_chunks
from murmur_cli.errors import RecordingError
from murmur_cli.settings import AUTO_CHUNK_S
from murmur_cli.stages import Stages
from murmur_cli.stitching.known_voices import SpeakerVoice, speaker_voices
from murmur_cli.stitching.stitch import stitch
from murmur_cli.types import ModelIdentity, SpeakerHints, VoiceClip

MIN_CLEAN_S = 2.0
"""Less clear speech says too little of a voice."""

ADVISED_CLEAN_S = 8.0

MAX_OTHERS_SHARE = 1 / 3
"""With more of its clear speech by others, a clip is no clip of one person."""

STRAY_S = 1.0
"""Other voices below this are coughs and slips, not worth a word."""


@dataclass(frozen=True, slots=True)
class HeardClip:
    """The voice of a clip, the weights that gave it, and lines for the user."""

    clip: VoiceClip
    model: ModelIdentity
    warnings: tuple[str, ...]


def hear_clip(path: Path, stages: Stages) -> HeardClip:
    """The voice that talks in a clip, from where it is heard alone.

    Raises:
        RecordingError: the clip cannot be read, holds too little clear speech, or several people
            about equally.
        ModelError: a stage cannot be loaded.
    """
    name = path_text(path)
    recording = read_recording(InputFile(path, path.stem))
    detector = stages.detector.get()
    assert stages.diarizer is not None
    diarizer = stages.diarizer.get()
    speech = detector.detect(recording.samples)
    plan = plan_chunks(speech, recording.samples, max_chunk_s=AUTO_CHUNK_S, packing=None)
    local = [diarizer.diarize(recording.samples, chunk) for chunk in plan.chunks]
    voices = speaker_voices(stitch(local, SpeakerHints()), local)
    if not voices:
        raise RecordingError(f"{name}: no speech found; give a clip in which one person talks")
    main = max(voices, key=lambda voice: (voice.embedding is not None, voice.clean_s))
    if main.embedding is None or main.clean_s < MIN_CLEAN_S:
        raise RecordingError(
            f"{name}: only {main.clean_s:.1f} s of clear speech; at least {MIN_CLEAN_S:.0f} s of"
            " one person are needed"
        )
    warnings = (*recording.warnings, *_advice(name, main, voices))
    clip = VoiceClip(path.name, recording.facts.sha256, main.clean_s, main.embedding)
    return HeardClip(clip, diarizer.voice_model, warnings)


def _advice(name: str, main: SpeakerVoice, voices: tuple[SpeakerVoice, ...]) -> list[str]:
    others_s = sum(voice.clean_s for voice in voices) - main.clean_s
    if others_s > MAX_OTHERS_SHARE * (others_s + main.clean_s):
        raise RecordingError(
            f"{name}: {len(voices)} people talk, the first for {main.clean_s:.1f} s and others for"
            f" {others_s:.1f} s; give a clip of one person"
        )
    if others_s >= STRAY_S:
        return [
            f"others talk for {others_s:.1f} s; the voice that talks for {main.clean_s:.1f} s was"
            " taken"
        ]
    if main.clean_s < ADVISED_CLEAN_S:
        return [
            f"{main.clean_s:.1f} s of clear speech; {ADVISED_CLEAN_S:.0f} s and more tell people"
            " apart better"
        ]
    return []
