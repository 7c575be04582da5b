"""Decode anything ffmpeg knows through PyAV: one track, from the start, without seeking."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from murmur_cli.audio.decoded import Channels, DecodedAudio
from murmur_cli.audio.mp3_header import mp3_declares_length
from murmur_cli.audio.path_text import path_text
from murmur_cli.audio.resample import ResamplingCollector
from murmur_cli.errors import RecordingError

if TYPE_CHECKING:
    import av
    import av.audio.stream
    import av.container

OPEN_OPTIONS = {"protocol_whitelist": "file"}
"""A play list that calls itself .mp3 must not make us fetch what it names."""

ESTIMATED_LENGTH = frozenset(
    {"aac", "ac3", "amr", "amrnb", "amrwb", "dts", "eac3", "loas", "mp2", "mpeg", "mpegts"}
)
"""Formats without a length: ffmpeg's figure is a guess from the bit rate."""

BLOCK_S = 4.0
MIN_GAP_S = 0.05
"""Shorter jumps of the time stamps are rounding, not lost audio."""
MAX_SWALLOWED_S = 0.1
"""Longest block of any codec that may be lost at the start."""

MAX_GAP_S = 3600.0
"""A longer jump is a broken time stamp."""


def decode_with_pyav(path: Path, track: int | None) -> DecodedAudio:
    """One audio track of the file; the first if `track` (counted from 0) is None.

    Audio that is missing inside the file (lost packets, damaged ones, silence that was not
    sent) is filled with silence, so that times after it stay right.

    Raises:
        RecordingError: not readable, no audio stream, no such track, nothing decodable.
        NoRoomError: the temporary file of a long recording cannot be made or written.
    """
    import av

    try:
        container = av.open(f"file:{os.path.abspath(path)}", mode="r", options=OPEN_OPTIONS)
    except (av.FFmpegError, ValueError) as error:
        raise RecordingError(
            f"{path_text(path)}: not readable as audio ({plain_reason(error)})"
        ) from error
    with container:
        stream = _choose_stream(container, path, track)
        collector = ResamplingCollector()
        reading = _TrackReading(stream)
        try:
            for block, rate_hz in reading.blocks(container):
                collector.add(block, rate_hz)
        except (av.FFmpegError, ValueError) as error:
            # The demuxer gave up; what came before is good.
            reading.stopped_by = plain_reason(error)
        if not reading.rate_hz:
            reason = reading.stopped_by or "no audio samples"
            raise RecordingError(f"{path_text(path)}: not readable as audio ({reason})")
        return DecodedAudio(
            channels=collector.finish(),
            decoder="pyav",
            container=container.format.name,
            codec=stream.codec_context.name,
            sample_rate_hz=reading.rate_hz,
            duration_s=collector.decoded_s,
            declared_duration_s=_declared_duration_s(container, stream, path),
            warnings=(
                *_track_warnings(container, stream, track),
                *reading.warnings(),
                *collector.warnings,
            ),
            is_surround=reading.is_surround,
        )


def probe_duration_s(path: Path) -> float | None:
    """What the header declares, as ffmpeg reads it; None if it says nothing or is no media."""
    import av

    try:
        with av.open(f"file:{os.path.abspath(path)}", options=OPEN_OPTIONS) as container:
            streams = container.streams.audio
            return _declared_duration_s(container, streams[0], path) if streams else None
    except (av.FFmpegError, ValueError):
        return None


def plain_reason(error: Exception) -> str:
    """ffmpeg's own words, on one line, without the number and the file name."""
    text = getattr(error, "strerror", None) or str(error)
    return " ".join(text.split())


def _choose_stream(
    container: av.container.InputContainer, path: Path, track: int | None
) -> av.audio.stream.AudioStream:
    streams = container.streams.audio
    if not streams:
        raise RecordingError(f"{path_text(path)}: no audio stream")
    if track is not None and not 0 <= track < len(streams):
        raise RecordingError(
            f"{path_text(path)}: no audio track {track}; it has {len(streams)}, counted from 0"
        )
    return streams[track or 0]


def _track_warnings(
    container: av.container.InputContainer,
    stream: av.audio.stream.AudioStream,
    track: int | None,
) -> Iterator[str]:
    count = len(container.streams.audio)
    if count > 1 and track is None:
        others = "--track 1" if count == 2 else f"--track 1 to {count - 1}"
        yield f"{count} audio tracks; took track 0, {others} takes another"


def _declared_duration_s(
    container: av.container.InputContainer, stream: av.audio.stream.AudioStream, path: Path
) -> float | None:
    name = container.format.name
    if name in ESTIMATED_LENGTH or (name == "mp3" and not mp3_declares_length(path)):
        return None
    tagged_s = _tagged_duration_s(stream.metadata)
    if tagged_s is not None:
        return tagged_s
    if stream.duration and stream.time_base:
        return float(stream.duration * stream.time_base)
    if container.duration:
        return float(container.duration) / 1_000_000
    return None


def _tagged_duration_s(metadata: dict[str, str]) -> float | None:
    """Length of one Matroska track ('00:01:02.500000000'); the container's is the longest's."""
    match = re.fullmatch(r"(\d+):(\d\d):(\d\d(?:\.\d+)?)", metadata.get("DURATION", ""))
    if match is None:
        return None
    return 3600.0 * int(match[1]) + 60.0 * int(match[2]) + float(match[3])


@dataclass
class _TrackReading:
    """State of one pass over a track: its format, and what had to be mended on the way."""

    stream: av.audio.stream.AudioStream
    rate_hz: int = 0
    channel_count: int = 0
    is_surround: bool = False
    damaged_packets: int = 0
    filled_s: float = 0.0
    remixed: bool = False
    stopped_by: str | None = None
    _first_time_s: float | None = None
    _position_s: float = 0.0

    def blocks(self, container: av.container.InputContainer) -> Iterator[tuple[Channels, int]]:
        """Audio in blocks of a few seconds with their rate, gaps filled."""
        held: list[Channels] = []
        held_samples, held_rate_hz = 0, 0
        for frame in self._frames(container):
            for part in self._with_gap_filled(frame):
                if held and (
                    frame.sample_rate != held_rate_hz or held_samples > BLOCK_S * held_rate_hz
                ):
                    yield np.concatenate(held), held_rate_hz
                    held, held_samples = [], 0
                held.append(part)
                held_samples, held_rate_hz = held_samples + len(part), frame.sample_rate
        if held:
            yield np.concatenate(held), held_rate_hz

    def warnings(self) -> Iterator[str]:
        """Plain lines on what was mended."""
        if self.damaged_packets:
            yield f"{self.damaged_packets} damaged packets were skipped"
        if self.filled_s:
            yield f"{self.filled_s:.2f} s of audio are missing inside the file; filled with silence"
        if self.remixed:
            yield f"the number of channels changes; all was brought to {self.channel_count}"
        if self.stopped_by:
            yield f"reading stopped early: {self.stopped_by}"

    def _frames(self, container: av.container.InputContainer) -> Iterator[Any]:
        import av

        for packet in container.demux(self.stream):
            try:
                frames = packet.decode()
            except av.EOFError:
                return
            except (av.InvalidDataError, av.PatchWelcomeError, ValueError):
                self.damaged_packets += 1
                continue
            yield from (frame for frame in frames if frame.samples and frame.sample_rate)

    def _with_gap_filled(self, frame: Any) -> Iterator[Channels]:
        block = _to_float(frame)
        if not self.rate_hz:
            self.rate_hz, self.channel_count = frame.sample_rate, block.shape[1]
            # Without a layout ffmpeg says '6 channels'.
            named = not frame.layout.name.endswith("channels")
            self.is_surround = named and block.shape[1] > 2
        if block.shape[1] != self.channel_count:
            self.remixed = True
            block = np.repeat(block.mean(axis=1, keepdims=True), self.channel_count, axis=1)
        gap_s = self._gap_before_s(frame)
        if gap_s:
            silence = np.zeros((round(gap_s * frame.sample_rate), self.channel_count), np.float32)
            self._position_s += len(silence) / frame.sample_rate
            yield silence
        self._position_s += len(block) / frame.sample_rate
        yield block

    def _gap_before_s(self, frame: Any) -> float:
        """Seconds of audio that the time stamps say are missing in front of the frame."""
        if frame.time is None:
            return 0.0
        if self._first_time_s is None:
            return self._gap_at_start_s(frame.time)
        gap_s = float(frame.time - self._first_time_s - self._position_s)
        if not MIN_GAP_S < gap_s <= MAX_GAP_S:
            return 0.0
        self.filled_s += gap_s
        return gap_s

    def _gap_at_start_s(self, time_s: float) -> float:
        """What the decoder swallowed to get going (Vorbis: one block); sets the time origin.

        A track that begins late in its container has no gap: its time counts from its start.
        """
        stream = self.stream
        start_s = float((stream.start_time or 0) * (stream.time_base or 0))
        swallowed_s = time_s - max(start_s, 0.0)
        gap_s = swallowed_s if 0.0 < swallowed_s <= MAX_SWALLOWED_S else 0.0
        self._first_time_s = time_s - self._position_s - gap_s
        return gap_s


def _to_float(frame: Any) -> Channels:
    """Samples of a frame, (samples, channels), integer formats scaled to [-1, 1)."""
    array = frame.to_ndarray()
    channel_count = len(frame.layout.channels)
    # Packed formats come as one row of interleaved samples, planar ones as a row per channel.
    samples = array.T if frame.format.is_planar else array.reshape(-1, channel_count)
    if samples.dtype == np.uint8:
        return np.ascontiguousarray((samples.astype(np.float32) - 128.0) / 128.0)
    if samples.dtype.kind == "i":
        scale = np.float32(1.0 / 2 ** (8 * samples.dtype.itemsize - 1))
        return np.ascontiguousarray(samples.astype(np.float32) * scale)
    return np.array(samples, dtype=np.float32, order="C")
