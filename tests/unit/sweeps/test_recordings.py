"""What a sweep hears."""

from __future__ import annotations

from pathlib import Path

import soundfile

from murmur_cli.audio.discover import InputFile, find_inputs
from murmur_cli.sweeps.recordings import read_sweep_audio
from support.media_files import RATE_HZ, tone


def test_audio_when_the_folder_is_that_of_the_recordings_then_it_holds_no_more_of_them(
    tmp_path: Path,
) -> None:
    soundfile.write(tmp_path / "talk.wav", tone(3.0), RATE_HZ)
    sources = find_inputs([tmp_path], recursive=True)
    audio = read_sweep_audio(sources, tmp_path)
    assert [one.duration_s for one in audio.recordings] == [3.0]
    assert audio.warm_up is not None
    assert soundfile.info(audio.warm_up).duration == 3.0
    assert find_inputs([tmp_path], recursive=True) == sources


def test_audio_when_one_cannot_be_read_then_it_is_named_and_the_next_warms_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "junk.wav").write_bytes(b"no audio")
    soundfile.write(tmp_path / "talk.wav", tone(30.0), RATE_HZ)
    sources = [InputFile(tmp_path / f"{name}.wav", name) for name in ("junk", "talk")]
    audio = read_sweep_audio(sources, tmp_path)
    assert list(audio.unreadable) == ["junk"]
    assert [one.source.session_id for one in audio.recordings] == ["talk"]
    assert audio.warm_up is not None
    assert soundfile.info(audio.warm_up).duration == 20.0
