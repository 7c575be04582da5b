"""One input file -> float32 at 16 kHz, mono or a few channels, with the facts about it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

from murmur_cli.audio.decoded import DecodedAudio
from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.first_bytes import needs_ffmpeg
from murmur_cli.audio.level import Level, bring_into_range, measure_level
from murmur_cli.audio.path_text import path_text
from murmur_cli.audio.pyav_decoder import decode_with_pyav, probe_duration_s
from murmur_cli.audio.soundfile_decoder import decode_with_soundfile
from murmur_cli.audio.streams import streams_of
from murmur_cli.audio.temporary_bytes import NoRoomError
from murmur_cli.audio.wav_header import read_wav_header
from murmur_cli.errors import RecordingError
from murmur_cli.types import AudioFacts, ChannelMode, Recording

COUNTED_TOLERANCE_S = 0.1
"""Audio missing at the end that is put down to rounding where the header counts samples."""

ENCODED_TOLERANCE_SHARE = 0.02
ENCODED_TOLERANCE_S = (0.5, 2.0)
"""The same, with its bounds, for encoded audio: blocks are whole, some headers round, and some
give the length of the longest track."""

QUIET_PEAK_DBFS = -40.0
"""Below this, speech may be lost that a turned-up microphone would have kept."""


def read_recording(
    source: InputFile, *, track: int | None = None, channels: ChannelMode = ChannelMode.MIX
) -> Recording:
    """Decode one file, once, from its start.

    libsndfile reads wav, flac, aiff and their like; mp3, ogg and all else goes to ffmpeg.
    Decoding, resampling and all checks go block by block, and a long recording is kept in a
    temporary file: memory does not depend on its length. `track` chooses the audio track of a
    container, counted from 0; None takes the first and says if there are others. `channels` says
    whether channels are recordings of their own, see `streams_of`.

    Raises:
        RecordingError: the file is missing, empty, not audio, or has no such track, or there
            is no room for a temporary file.
    """
    try:
        return _read(source, track, channels)
    except NoRoomError as error:
        raise RecordingError(f"{path_text(source.path)}: {error}") from error
    except OSError as error:
        raise RecordingError(
            f"{path_text(source.path)}: cannot be read ({error.strerror or error})"
        ) from error


def _read(source: InputFile, track: int | None, mode: ChannelMode) -> Recording:
    path = source.path
    sha256 = _hash(path)
    decoded = _decode(path, track)
    if not len(decoded.channels):
        raise RecordingError(f"{path_text(path)}: no audio samples")
    decoded, truncated, length_warning = _check_length(decoded, path)
    channel_count = decoded.channels.shape[1]
    heard = streams_of(decoded.channels, mode, is_surround=decoded.is_surround)
    ranged = [bring_into_range(stream.samples) for stream in heard.streams]
    level = measure_level(*(samples for samples, _ in ranged))
    facts = AudioFacts(
        path=path,
        sha256=sha256,
        decoder=decoded.decoder,
        container=decoded.container,
        codec=decoded.codec,
        sample_rate_hz=decoded.sample_rate_hz,
        channels=channel_count,
        mix=heard.how,
        declared_duration_s=decoded.declared_duration_s,
        duration_s=decoded.duration_s,
        peak_dbfs=level.peak_dbfs,
        rms_dbfs=level.rms_dbfs,
    )
    warnings = (
        *decoded.warnings,
        length_warning,
        *heard.warnings,
        *(warning for _, warning in ranged),
        _quiet_warning(level),
    )
    return Recording(
        session_id=source.session_id,
        streams=tuple(
            replace(stream, samples=samples)
            for stream, (samples, _) in zip(heard.streams, ranged, strict=True)
        ),
        facts=facts,
        truncated=truncated,
        warnings=tuple(dict.fromkeys(warning for warning in warnings if warning)),
        notes=heard.notes,
    )


def _hash(path: Path) -> str:
    name = path_text(path)
    if path.is_dir():
        raise RecordingError(f"{name}: not readable as audio (it is a folder)")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
        if not file.tell():
            raise RecordingError(f"{name}: not readable as audio (the file is empty, 0 bytes)")
    return digest.hexdigest()


def _decode(path: Path, track: int | None) -> DecodedAudio:
    if track or needs_ffmpeg(path):
        return decode_with_pyav(path, track)
    decoded = decode_with_soundfile(path)
    if isinstance(decoded, str):
        return decode_with_pyav(path, track)
    if len(decoded.channels):
        return replace(decoded, declared_duration_s=probe_duration_s(path))
    try:
        # A header that says 0 because it was never finished: ffmpeg reads on to the end.
        return decode_with_pyav(path, track)
    except RecordingError as error:
        raise RecordingError(f"{path_text(path)}: no audio samples") from error


def _check_length(decoded: DecodedAudio, path: Path) -> tuple[DecodedAudio, bool, str | None]:
    """The audio with the declared duration settled, whether it is truncated, and a warning."""
    header = read_wav_header(path)
    if header is not None and header.placeholder:
        warning = (
            f"the header overstates the length ({header.declared_s:.0f} s, a placeholder of"
            f" streamed files); the file holds {decoded.duration_s:.2f} s"
        )
        return replace(decoded, declared_duration_s=None), False, warning
    declared_s = decoded.declared_duration_s
    if header is not None:
        # libsndfile and ffmpeg both mend this header before they show it.
        declared_s = header.declared_s
    if not declared_s:
        return replace(decoded, declared_duration_s=None), False, None
    decoded = replace(decoded, declared_duration_s=declared_s)
    missing_s = declared_s - decoded.duration_s
    if missing_s > _tolerance_s(decoded.codec, declared_s):
        warning = (
            f"the file is cut off: its header declares {declared_s:.2f} s,"
            f" {decoded.duration_s:.2f} s could be decoded"
        )
        return decoded, True, warning
    if header is not None and _counts_samples(decoded.codec) and missing_s > 0:
        warning = f"the header declares {1000 * missing_s:.2f} ms more than the file holds"
        return decoded, False, warning
    return decoded, False, None


def _quiet_warning(level: Level) -> str | None:
    if level.peak_dbfs is None or level.peak_dbfs >= QUIET_PEAK_DBFS:
        return None
    return f"the recording is very quiet (peak {level.peak_dbfs:.0f} dBFS)"


def _tolerance_s(codec: str, declared_s: float) -> float:
    if _counts_samples(codec):
        return COUNTED_TOLERANCE_S
    least_s, most_s = ENCODED_TOLERANCE_S
    return min(max(ENCODED_TOLERANCE_SHARE * declared_s, least_s), most_s)


def _counts_samples(codec: str) -> bool:
    return codec.lower().startswith(("pcm", "float", "double", "ulaw", "alaw", "flac"))
