"""Media files of many kinds, written by PyAV and soundfile for the tests of the reader."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

RATE_HZ = 16_000


def tone(seconds: float, rate_hz: int = RATE_HZ, frequency_hz: float = 220.0) -> npt.NDArray:
    """Sine of peak 0.3, shape (samples,), float32."""
    time = np.arange(round(seconds * rate_hz)) / rate_hz
    return (0.3 * np.sin(2 * np.pi * frequency_hz * time)).astype(np.float32)


def write_tracks(
    path: Path,
    tracks: list[npt.NDArray],
    *,
    codec: str,
    rate_hz: int,
    layout: str = "mono",
    format_options: dict[str, str] | None = None,
    codec_options: dict[str, str] | None = None,
) -> Path:
    """Write mono or planar multi-channel tracks into one container; returns the path."""
    import av

    with av.open(str(path), "w", options=format_options or {}) as container:
        streams = []
        for _ in tracks:
            stream = container.add_stream(
                codec, rate=rate_hz, layout=layout, options=codec_options or {}
            )
            stream.format = stream.codec.audio_formats[0]
            streams.append(stream)
        for stream, track in zip(streams, tracks, strict=True):
            convert = av.AudioResampler(format=stream.format, layout=layout, rate=rate_hz)
            planar = np.ascontiguousarray(np.atleast_2d(track), dtype=np.float32)
            frame = av.AudioFrame.from_ndarray(planar, format="fltp", layout=layout)
            frame.sample_rate = rate_hz
            for converted in convert.resample(frame):
                container.mux(stream.encode(converted))
            container.mux(stream.encode(None))
    return path


def write_video_without_audio(path: Path) -> Path:
    """A second of black pictures and no sound."""
    import av

    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=10)
        stream.width = stream.height = 32
        stream.pix_fmt = "yuv420p"
        for _ in range(10):
            picture = np.zeros((32, 32, 3), np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


def forge_wav_sizes(path: Path, source: Path, *, riff_bytes: int, data_bytes: int) -> Path:
    """A copy of a wav with other sizes in its header."""
    content = bytearray(source.read_bytes())
    data = content.find(b"data")
    content[4:8] = struct.pack("<I", riff_bytes)
    content[data + 4 : data + 8] = struct.pack("<I", data_bytes)
    path.write_bytes(content)
    return path


def cut_file(path: Path, source: Path, share: float) -> Path:
    """The first part of a file."""
    content = source.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    return path


def write_excerpt(recording: Path, path: Path, start_s: float, end_s: float) -> None:
    """Write the part of a 16 kHz recording between two times as a file of its own."""
    samples, rate_hz = soundfile.read(
        recording, start=round(start_s * RATE_HZ), stop=round(end_s * RATE_HZ)
    )
    assert rate_hz == RATE_HZ
    soundfile.write(path, samples, rate_hz)
