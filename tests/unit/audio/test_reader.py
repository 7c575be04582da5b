"""One file of each kind that people bring, and of each kind that is broken."""

import hashlib
import os
import struct
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import soundfile

from murmur_cli.audio import spool
from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.errors import RecordingError
from murmur_cli.types import Recording
from support.media_files import (
    RATE_HZ,
    cut_file,
    forge_wav_sizes,
    tone,
    write_tracks,
    write_video_without_audio,
)
from support.open_files import open_files_in

FIELD = Path(__file__).parents[3] / "../shared/data/field"


def read(path: Path, track: int | None = None) -> Recording:
    return read_recording(InputFile(path, "x"), track=track)


@pytest.fixture
def ok(tmp_path: Path) -> Path:
    path = tmp_path / "ok.wav"
    soundfile.write(path, tone(3.0), RATE_HZ)
    return path


def dominant_hz(samples: np.ndarray) -> float:
    spectrum = np.abs(np.fft.rfft(samples[:RATE_HZ] * np.hanning(RATE_HZ)))
    return float(np.argmax(spectrum))


def test_read_when_plain_wav_then_samples_and_facts(ok: Path) -> None:
    recording = read(ok)
    np.testing.assert_allclose(recording.samples, tone(3.0), atol=2**-15)
    assert recording.samples.dtype == np.float32
    facts = recording.facts
    assert facts.sha256 == hashlib.sha256(ok.read_bytes()).hexdigest()
    assert (facts.decoder, facts.container, facts.codec) == ("soundfile", "WAV", "PCM_16")
    assert (facts.sample_rate_hz, facts.channels, facts.mix) == (RATE_HZ, 1, "mono")
    assert facts.duration_s == facts.declared_duration_s == 3.0
    assert facts.peak_dbfs == pytest.approx(-10.458, abs=0.01)  # 20 log10 0.3
    assert facts.rms_dbfs == pytest.approx(-13.468, abs=0.01)  # 3.01 dB below
    assert not recording.truncated
    assert recording.warnings == ()


@pytest.mark.parametrize(
    "subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW"]
)
def test_read_when_any_wav_subtype_then_same_audio(tmp_path: Path, subtype: str) -> None:
    path = tmp_path / "noextension"
    soundfile.write(path, tone(1.0), RATE_HZ, subtype=subtype, format="WAV")
    recording = read(path)
    tolerance = 0.02 if subtype in ("PCM_U8", "ULAW", "ALAW") else 1e-4
    np.testing.assert_allclose(recording.samples, tone(1.0), atol=tolerance)
    assert recording.warnings == ()


@pytest.mark.parametrize("form", ["FLAC", "AIFF", "AU", "CAF", "RF64", "W64", "NIST"])
def test_read_when_any_libsndfile_format_then_same_audio(tmp_path: Path, form: str) -> None:
    path = tmp_path / "sound.raw"  # the name must not matter
    soundfile.write(path, tone(1.0), RATE_HZ, format=form)
    recording = read(path)
    assert recording.facts.decoder == "soundfile"
    assert len(recording.samples) == RATE_HZ
    assert dominant_hz(recording.samples) == 220
    assert not recording.truncated


@pytest.mark.parametrize(
    ("name", "codec"),
    [
        ("a.m4a", "aac"),
        ("a.mp4", "aac"),
        ("a.webm", "libopus"),
        ("a.mkv", "libopus"),
        ("a.opus", "libopus"),
        ("a.aac", "aac"),
        ("a.mp3", "libmp3lame"),
        ("a.mka", "ac3"),
    ],
)
def test_read_when_compressed_then_length_and_pitch_right(
    tmp_path: Path, name: str, codec: str
) -> None:
    path = write_tracks(tmp_path / name, [tone(3.0, 48_000)], codec=codec, rate_hz=48_000)
    recording = read(path)
    assert recording.facts.sample_rate_hz == 48_000
    assert recording.facts.duration_s == pytest.approx(3.0, abs=0.1)
    assert len(recording.samples) == pytest.approx(recording.facts.duration_s * RATE_HZ, abs=2)
    assert dominant_hz(recording.samples[RATE_HZ:]) == 220
    assert not recording.truncated
    assert recording.warnings == ()


def test_read_when_mp3_has_no_length_tag_then_read_to_its_end(tmp_path: Path) -> None:
    """The loud first half makes a reader guess a high rate, hence a short file."""
    noise = np.random.default_rng(0).standard_normal(44_100 * 20).astype(np.float32)
    quiet = tone(20.0, 44_100)
    path = write_tracks(
        tmp_path / "vbr.mp3",
        [np.concatenate([0.2 * noise, quiet])],
        codec="libmp3lame",
        rate_hz=44_100,
        format_options={"write_xing": "0"},
        codec_options={"global_quality": str(9 * 118), "flags": "+qscale"},
    )
    recording = read(path)
    assert recording.facts.duration_s == pytest.approx(40.0, abs=0.1)
    assert recording.facts.declared_duration_s is None
    assert dominant_hz(recording.samples[-2 * RATE_HZ :]) == 220


def test_read_when_ogg_streams_are_joined_then_all_read(tmp_path: Path) -> None:
    one, joined = tmp_path / "one.ogg", tmp_path / "joined.ogg"
    soundfile.write(one, tone(2.0), RATE_HZ)
    joined.write_bytes(one.read_bytes() * 2)
    assert read(one).facts.duration_s == pytest.approx(2.0, abs=0.01)
    assert read(joined).facts.duration_s == pytest.approx(4.0, abs=0.05)


def test_read_when_ogg_page_is_damaged_then_times_after_it_stay(tmp_path: Path) -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(5 * 48_000).astype(np.float32)
    whole = write_tracks(tmp_path / "whole.ogg", [noise], codec="libopus", rate_hz=48_000)
    content = bytearray(whole.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 500] = bytes(500)
    damaged = tmp_path / "damaged.ogg"
    damaged.write_bytes(content)
    recording = read(damaged)
    assert recording.facts.duration_s == pytest.approx(5.0, abs=0.1)
    assert any("missing inside the file" in warning for warning in recording.warnings)


def test_read_when_tracks_are_many_then_first_with_warning_or_the_chosen(tmp_path: Path) -> None:
    tracks = [tone(2.0, 48_000, 220), tone(2.0, 48_000, 880)]
    path = write_tracks(tmp_path / "two.mp4", tracks, codec="aac", rate_hz=48_000)
    first = read(path)
    assert dominant_hz(first.samples) == 220
    assert any("2 audio tracks" in warning for warning in first.warnings)
    second = read(path, track=1)
    assert dominant_hz(second.samples) == 880
    assert second.warnings == ()
    with pytest.raises(RecordingError, match="no audio track 2; it has 2"):
        read(path, track=2)


def test_read_when_stereo_is_in_opposite_phase_then_not_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "antiphase.wav"
    soundfile.write(path, np.stack([tone(2.0), -tone(2.0)], axis=1), RATE_HZ)
    recording = read(path)
    assert recording.facts.mix in ("left", "right")
    assert recording.facts.channels == 2
    assert np.abs(recording.samples).max() == pytest.approx(0.3, abs=0.01)
    assert any("opposite phase" in warning for warning in recording.warnings)


def test_read_when_stereo_at_other_rate_then_resampled_and_mixed(tmp_path: Path) -> None:
    path = tmp_path / "stereo.wav"
    stereo = np.stack([tone(2.0, 44_100, 220), tone(2.0, 44_100, 440)], axis=1)
    soundfile.write(path, stereo, 44_100)
    recording = read(path)
    expected = (tone(2.0, RATE_HZ, 220) + tone(2.0, RATE_HZ, 440)) / 2
    middle = slice(1_000, -1_000)
    np.testing.assert_allclose(recording.samples[middle], expected[middle], atol=1e-3)


@pytest.mark.parametrize(
    ("riff_bytes", "data_bytes"),
    [(0xFFFFFFFF, 0xFFFFFFFF), (2_000_000_036, 2_000_000_000), (0x7FFFFFFF, 0x7FFFF000)],
)
def test_read_when_header_is_a_placeholder_then_whole_and_not_truncated(
    tmp_path: Path, ok: Path, riff_bytes: int, data_bytes: int
) -> None:
    """Sizes that programs write into a pipe (whisper.cpp#184, pocket-tts#229)."""
    path = forge_wav_sizes(
        tmp_path / "stream.wav", ok, riff_bytes=riff_bytes, data_bytes=data_bytes
    )
    recording = read(path)
    assert recording.facts.duration_s == 3.0
    assert not recording.truncated
    (warning,) = recording.warnings
    assert "overstates" in warning


def test_read_when_header_was_never_finished_then_whole(tmp_path: Path, ok: Path) -> None:
    path = forge_wav_sizes(tmp_path / "zero.wav", ok, riff_bytes=0, data_bytes=0)
    recording = read(path)
    assert recording.facts.duration_s == 3.0
    assert not recording.truncated


def test_read_when_header_is_off_by_bytes_then_one_warning(tmp_path: Path, ok: Path) -> None:
    size = ok.stat().st_size
    path = forge_wav_sizes(
        tmp_path / "off.wav", ok, riff_bytes=size - 8 + 4, data_bytes=3 * 32_000 + 4
    )
    recording = read(path)
    assert recording.facts.duration_s == 3.0
    assert not recording.truncated
    assert len(recording.warnings) == 1


@pytest.mark.parametrize("form", ["WAV", "AIFF", "AU", "RF64", "FLAC"])
def test_read_when_cut_in_half_then_truncated_with_both_durations(
    tmp_path: Path, form: str
) -> None:
    whole = tmp_path / "whole"
    noise = 0.1 * np.random.default_rng(0).standard_normal(4 * RATE_HZ)
    soundfile.write(whole, noise, RATE_HZ, format=form)
    recording = read(cut_file(tmp_path / "cut", whole, 0.5))
    assert recording.truncated
    assert recording.facts.declared_duration_s == pytest.approx(4.0)
    assert recording.facts.duration_s == pytest.approx(2.0, abs=0.3)
    assert any("4.00 s" in warning for warning in recording.warnings)


def test_read_when_adpcm_is_cut_then_truncated(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "whole.wav", tone(4.0), RATE_HZ, subtype="IMA_ADPCM")
    assert not read(tmp_path / "whole.wav").truncated
    assert read(cut_file(tmp_path / "cut.wav", tmp_path / "whole.wav", 0.5)).truncated


@pytest.mark.parametrize(("name", "codec"), [("a.webm", "libopus"), ("a.mp3", "libmp3lame")])
def test_read_when_container_is_cut_then_truncated(tmp_path: Path, name: str, codec: str) -> None:
    noise = 0.1 * np.random.default_rng(0).standard_normal(10 * 48_000).astype(np.float32)
    whole = write_tracks(tmp_path / f"whole-{name}", [noise], codec=codec, rate_hz=48_000)
    recording = read(cut_file(tmp_path / name, whole, 0.4))
    assert recording.truncated
    assert recording.facts.declared_duration_s == pytest.approx(10.0, abs=0.1)
    assert 2.0 < recording.facts.duration_s < 6.0


def test_read_when_mp4_is_cut_before_its_index_then_error(tmp_path: Path) -> None:
    whole = write_tracks(tmp_path / "w.mp4", [tone(5.0, 48_000)], codec="aac", rate_hz=48_000)
    with pytest.raises(RecordingError, match="not readable as audio"):
        read(cut_file(tmp_path / "cut.mp4", whole, 0.4))


def test_read_when_audio_is_missing_inside_then_times_after_it_stay(tmp_path: Path) -> None:
    import av

    path = tmp_path / "gap.mkv"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE_HZ, layout="mono")
        for start_s in (0, 3):
            content = (tone(1.0) * 32767).astype(np.int16)[None]
            frame = av.AudioFrame.from_ndarray(content, format="s16", layout="mono")
            frame.sample_rate, frame.pts = RATE_HZ, start_s * RATE_HZ
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    recording = read(path)
    assert recording.facts.duration_s == pytest.approx(4.0, abs=0.01)
    assert not recording.samples[RATE_HZ + 100 : 3 * RATE_HZ - 100].any()
    assert dominant_hz(recording.samples[3 * RATE_HZ :]) == 220
    assert any("2.00 s of audio are missing" in warning for warning in recording.warnings)


def test_read_when_samples_are_no_numbers_then_zero_with_warning(tmp_path: Path) -> None:
    samples = tone(2.0)
    samples[8_000:8_100] = np.nan
    path = tmp_path / "nan.wav"
    soundfile.write(path, samples, RATE_HZ, subtype="FLOAT")
    recording = read(path)
    assert np.isfinite(recording.samples).all()
    assert not recording.samples[8_000:8_100].any()
    assert any("100 samples are not finite" in warning for warning in recording.warnings)


def test_read_when_beyond_full_scale_then_scaled_with_warning(tmp_path: Path) -> None:
    path = tmp_path / "loud.wav"
    soundfile.write(path, tone(2.0) * 20, RATE_HZ, subtype="FLOAT")
    recording = read(path)
    np.testing.assert_allclose(recording.samples, tone(2.0) / 0.3, atol=1e-3)
    assert any("scaled down" in warning for warning in recording.warnings)


def test_read_when_one_sample_then_one_sample(tmp_path: Path) -> None:
    path = tmp_path / "one.wav"
    soundfile.write(path, np.float32([0.25]), RATE_HZ)
    assert read(path).samples.tolist() == [0.25]


def test_read_when_silent_then_level_is_none(tmp_path: Path) -> None:
    path = tmp_path / "silence.wav"
    soundfile.write(path, np.zeros(RATE_HZ), RATE_HZ)
    facts = read(path).facts
    assert facts.peak_dbfs is None
    assert facts.rms_dbfs is None


def test_read_when_very_quiet_then_said(tmp_path: Path) -> None:
    path = tmp_path / "quiet.wav"
    soundfile.write(path, tone(1.0) * 0.003, RATE_HZ, subtype="FLOAT")
    assert any("very quiet" in warning for warning in read(path).warnings)


@pytest.mark.parametrize(
    ("name", "codec", "rate_hz", "channels"),
    [
        ("a.wav", "", RATE_HZ, 1),
        ("a.wav", "", 44_100, 2),
        ("a.flac", "", RATE_HZ, 1),
        ("a.flac", "", 48_000, 3),
        ("a.mp3", "libmp3lame", 44_100, 1),
        ("a.m4a", "aac", 48_000, 1),
        ("a.webm", "libopus", 48_000, 1),
    ],
)
def test_read_when_kept_on_disk_then_as_in_memory(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    codec: str,
    rate_hz: int,
    channels: int,
) -> None:
    path = tmp_path / name
    noise = np.random.default_rng(0).standard_normal((3 * rate_hz, channels)).astype(np.float32)
    if codec:
        write_tracks(path, [0.4 * noise[:, 0]], codec=codec, rate_hz=rate_hz)
    else:
        soundfile.write(path, 0.4 * noise, rate_hz)
    in_memory = read(path)
    assert isinstance(in_memory.samples, np.ndarray)
    monkeypatch.setattr(spool, "MEMORY_VALUES", 10_000)
    on_disk = read(path)
    assert isinstance(on_disk.samples, spool.SpooledAudio)
    np.testing.assert_array_equal(on_disk.samples[:], in_memory.samples)
    assert on_disk.facts == in_memory.facts
    assert on_disk.warnings == in_memory.warnings


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_read_when_the_recording_is_let_go_then_its_file_is_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "loud.wav"
    # Three stores follow each other: the channels, their mix, and the mix scaled down.
    soundfile.write(path, np.stack([3 * tone(2.0), 4 * tone(2.0)], axis=1), RATE_HZ, "FLOAT")
    monkeypatch.setattr(spool, "MEMORY_VALUES", 10_000)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    recording = read(path)
    assert open_files_in(tmp_path) == 1
    assert list(tmp_path.iterdir()) == [path]
    samples = recording.samples
    del recording
    assert len(samples[:100]) == 100
    del samples
    assert open_files_in(tmp_path) == 0


def test_read_when_25_minutes_long_then_memory_is_bounded(tmp_path: Path, ok: Path) -> None:
    """They are 96 MB as float32. Python's own count of memory includes numpy's arrays."""
    path = tmp_path / "long.wav"
    data_bytes = 25 * 60 * RATE_HZ * 2
    fields = (b"RIFF", 36 + data_bytes, b"WAVE", b"fmt ", 16, 1, 1, RATE_HZ, 2 * RATE_HZ, 2, 16)
    with path.open("wb") as file:
        file.write(struct.pack("<4sI4s4sIHHIIHH4sI", *fields, b"data", data_bytes))
        file.truncate(44 + data_bytes)  # silence that takes no space
    read(ok)  # imports are not counted
    tracemalloc.start()
    recording = read(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert recording.facts.duration_s == 1_500.0
    assert len(recording.samples) == 1_500 * RATE_HZ
    assert peak < 60e6


def test_read_when_there_is_no_room_for_a_temporary_file_then_one_plain_line(
    ok: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spool, "MEMORY_VALUES", 10_000)
    monkeypatch.setattr(tempfile, "tempdir", str(ok.parent / "gone"))
    with pytest.raises(RecordingError) as caught:
        read(ok)
    message = str(caught.value)
    assert message.startswith(f"{ok}: no room for the decoded audio in {ok.parent / 'gone'} (")
    assert "set TMPDIR" in message
    assert "\n" not in message


def junk_zero(path: Path) -> None:
    path.write_bytes(b"")


def junk_header_only(path: Path) -> None:
    soundfile.write(path, np.zeros(0), RATE_HZ, format="WAV")
    assert path.stat().st_size == 44


def junk_random(path: Path) -> None:
    path.write_bytes(np.random.default_rng(1).bytes(4_096))


def junk_text(path: Path) -> None:
    path.write_text("Minutes of the meeting\n" * 50)


def junk_playlist(path: Path) -> None:
    path.write_text("#EXTM3U\n#EXT-X-TARGETDURATION:5\n#EXTINF:5,\nhttp://127.0.0.1:9/a.ts\n")


def junk_folder(path: Path) -> None:
    path.mkdir()


def junk_missing(path: Path) -> None:
    assert not path.exists()


def junk_video(path: Path) -> None:
    write_video_without_audio(path)


@pytest.mark.parametrize(
    ("name", "make", "reason"),
    [
        ("zero.wav", junk_zero, "0 bytes"),
        ("header.wav", junk_header_only, "no audio samples"),
        ("junk.wav", junk_random, "not readable as audio"),
        ("notes.mp3", junk_text, "not readable as audio"),
        ("list.mp3", junk_playlist, "not readable as audio"),
        ("x.wav", junk_folder, "folder"),
        ("gone.wav", junk_missing, "No such file"),
        ("video.mp4", junk_video, "no audio stream"),
        ("two\nlines.wav", junk_zero, "0 bytes"),
    ],
)
def test_read_when_unusable_then_one_plain_line(tmp_path, name, make, reason) -> None:
    path = tmp_path / name
    make(path)
    with pytest.raises(RecordingError) as caught:
        read(path)
    message = str(caught.value)
    assert reason in message
    assert "\n" not in message
    assert name.split("\n")[0] in message


@pytest.mark.parametrize(
    "name",
    ["a b.wav", "-x.wav", "-", "会议 é.wav", "12:30.wav", "100%d.wav", "it's.wav", "a\nb.wav"],
)
@pytest.mark.parametrize("codec", ["wav", "webm"])
def test_read_when_name_is_odd_then_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, codec: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if codec == "wav":
        soundfile.write("plain", tone(0.5), RATE_HZ, format="WAV")
    else:
        write_tracks(Path("plain.webm"), [tone(0.5, 48_000)], codec="libopus", rate_hz=48_000)
        Path("plain.webm").rename("plain")
    os.rename("plain", name)
    assert read(Path(name)).facts.duration_s == pytest.approx(0.5, abs=0.05)


@pytest.mark.skipif(not FIELD.is_dir(), reason="needs ../shared/data/field")
def test_read_when_field_files_then_all_but_the_broken_one() -> None:
    media = {".wav", ".flac", ".mp3", ".m4a", ".mp4", ".opus", ".webm", ".aiff", ".sph"}
    failed = []
    for path in sorted(path for path in FIELD.iterdir() if path.suffix in media):
        try:
            recording = read(path)
        except RecordingError:
            failed.append(path.name)
            continue
        assert len(recording.samples) == pytest.approx(
            recording.facts.duration_s * RATE_HZ, abs=2
        ), path.name
        assert not recording.truncated, path.name
    assert failed == ["broken_missing_wav_header.wav"]
