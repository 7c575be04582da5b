"""What is heard of a file with several channels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from murmur_cli.audio.discover import InputFile
from murmur_cli.audio.reader import read_recording
from murmur_cli.audio.streams import Heard, streams_of
from murmur_cli.types import ChannelMode
from support.media_files import write_tracks
from support.panned import RATE_HZ, babble, in_turns, with_bleed

A, B = babble(6.0, 1), babble(6.0, 2)
CALL = with_bleed(*in_turns(A, B, 1.5), -20.0)


def _channels(heard: Heard) -> list[int | None]:
    return [stream.channel for stream in heard.streams]


def test_streams_when_channels_hold_different_people_then_split_and_said() -> None:
    heard = streams_of(CALL, ChannelMode.AUTO)
    assert (_channels(heard), heard.how, heard.warnings) == ([1, 2], "split", ())
    assert heard.notes == (
        "the channels hold different people; each is heard by itself",
        "channel 2 also holds channel 1 at -20 dB; that was left out",
        "channel 1 also holds channel 2 at -20 dB; that was left out",
    )


def test_streams_when_mixed_or_one_channel_then_as_before() -> None:
    assert _channels(streams_of(CALL, ChannelMode.MIX)) == [None]
    mono = streams_of(A[:, None], ChannelMode.SPLIT)
    assert (_channels(mono), mono.how) == ([None], "mono")


@pytest.mark.parametrize("mode", [ChannelMode.AUTO, ChannelMode.SPLIT])
def test_streams_when_dual_mono_then_heard_once_and_said(mode: ChannelMode) -> None:
    heard = streams_of(np.stack([A, 0.98 * A], axis=1), mode)
    assert _channels(heard) == [None]
    (line,) = heard.notes if mode is ChannelMode.AUTO else heard.warnings
    assert "the channels hold the same sound (correlation 1.000), heard once" in line
    np.testing.assert_allclose(heard.streams[0].samples[:], 0.99 * A, atol=1e-6)


def test_streams_when_in_opposite_phase_then_one_channel_and_a_warning() -> None:
    heard = streams_of(np.stack([A, -A], axis=1), ChannelMode.AUTO)
    assert heard.how == "left"
    assert "opposite phase" in heard.warnings[0]


def test_streams_when_split_is_asked_of_a_room_then_split() -> None:
    one, other = in_turns(A, B, 1.5)
    room = np.stack([one + 0.7 * other, 0.7 * one + other], axis=1)
    assert _channels(streams_of(room, ChannelMode.AUTO)) == [None]
    assert _channels(streams_of(room, ChannelMode.SPLIT)) == [1, 2]


def test_streams_when_a_channel_is_dead_then_the_live_ones() -> None:
    three = np.concatenate([CALL, np.zeros((len(CALL), 1), np.float32)], axis=1)
    assert _channels(streams_of(three[:, [0, 2, 1]], ChannelMode.AUTO)) == [1, 3]
    left = streams_of(three[:, [0, 2]], ChannelMode.SPLIT)
    assert (_channels(left), left.how) == ([None], "left")


def test_streams_when_a_channel_is_there_twice_then_heard_once_and_said() -> None:
    """Some recorders write a microphone to two tracks, one of them upside down."""
    four = np.stack([CALL[:, 0], -0.5 * CALL[:, 0], CALL[:, 1], CALL[:, 1]], axis=1)
    for mode in (ChannelMode.AUTO, ChannelMode.SPLIT):
        heard = streams_of(four, mode)
        assert _channels(heard) == [1, 3]
        assert "channels 2, 4 hold the sound of an earlier one; heard once" in heard.notes


def test_streams_when_two_of_three_cancel_then_the_third_is_heard_too() -> None:
    heard = streams_of(np.stack([A, -A, B], axis=1), ChannelMode.MIX)
    assert heard.how == "mean"
    (warning,) = heard.warnings
    assert "opposite phase" in warning
    assert warning.endswith("took channels 1, 3")
    np.testing.assert_allclose(heard.streams[0].samples[:], (A + B) / 2, atol=1e-6)


def test_streams_when_channels_have_an_offset_then_it_is_no_sound() -> None:
    """Of opposite sign it would look like channels in opposite phase, and one would be lost."""
    one, other = in_turns(A, B, 1.5)
    offset = np.stack([one + 0.3, other - 0.3], axis=1).astype(np.float32)
    assert _channels(streams_of(offset, ChannelMode.AUTO)) == [1, 2]
    assert streams_of(offset, ChannelMode.MIX).how == "mean"


def test_streams_when_surround_then_mixed_unless_asked() -> None:
    assert _channels(streams_of(CALL, ChannelMode.AUTO, is_surround=True)) == [None]
    assert _channels(streams_of(CALL, ChannelMode.SPLIT, is_surround=True)) == [1, 2]


def test_read_when_film_has_surround_then_mixed(tmp_path: Path) -> None:
    six = np.zeros((6, 3 * len(CALL)), np.float32)
    six[0], six[1] = np.repeat(CALL, 3, axis=0).T
    path = write_tracks(tmp_path / "film.mka", [six], codec="ac3", rate_hz=48_000, layout="5.1")
    recording = read_recording(InputFile(path, "film"), channels=ChannelMode.AUTO)
    assert recording.facts.mix == "mean"
    assert [stream.channel for stream in recording.streams] == [None]


def test_read_when_split_then_streams_levels_and_notes(tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    sf.write(path, CALL, RATE_HZ, subtype="FLOAT")
    recording = read_recording(InputFile(path, "call"), channels=ChannelMode.AUTO)
    assert (recording.facts.mix, recording.facts.channels) == ("split", 2)
    assert [(one.channel, len(one.samples)) for one in recording.streams] == [
        (1, len(CALL)),
        (2, len(CALL)),
    ]
    assert len(recording.notes) == 3
    peak = max(float(np.abs(one.samples[:]).max()) for one in recording.streams)
    assert recording.facts.peak_dbfs == pytest.approx(20 * np.log10(peak))


def test_read_when_two_people_talk_at_once_in_a_real_file_then_split() -> None:
    path = Path(__file__).parents[3] / "../shared/data/field/fw_stereo_lr_2spk.wav"
    if not path.exists():
        pytest.skip("shared/data is not here")
    recording = read_recording(InputFile(path, "pair"), channels=ChannelMode.AUTO)
    assert recording.facts.mix == "split"
