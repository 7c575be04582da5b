"""Decode uncompressed and FLAC files with libsndfile, from the start, in blocks."""

from __future__ import annotations

import os
from pathlib import Path

from murmur_cli.audio.decoded import DecodedAudio
from murmur_cli.audio.resample import ResamplingCollector

BLOCK_SAMPLES = 1 << 18


def decode_with_soundfile(path: Path) -> DecodedAudio | str:
    """The whole file, or one line on why libsndfile is not the one to read it.

    The declared duration is left None: libsndfile mends most headers before it shows them.

    Raises:
        OSError: the file cannot be opened.
        NoRoomError: the temporary file of a long recording cannot be made or written.
    """
    import soundfile

    # Opened by descriptor: by name, '-' is standard input and '.raw' asks for parameters.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        with soundfile.SoundFile(descriptor, closefd=False) as file:
            collector = ResamplingCollector()
            while len(block := file.read(BLOCK_SAMPLES, dtype="float32", always_2d=True)):
                collector.add(block, file.samplerate)
            return DecodedAudio(
                channels=collector.finish(),
                decoder="soundfile",
                container=file.format,
                codec=file.subtype,
                sample_rate_hz=file.samplerate,
                duration_s=collector.decoded_s,
                declared_duration_s=None,
                warnings=collector.warnings,
            )
    except soundfile.SoundFileError as error:
        return " ".join(str(error).split()) or "libsndfile cannot read it"
    finally:
        os.close(descriptor)
