import errno
import json
import os
from pathlib import Path

import pytest

from murmur_cli.errors import RecordingError, UsageError
from murmur_cli.writers import output
from murmur_cli.writers.output import check_directory, check_inputs_kept, write_outputs
from murmur_cli.writers.registry import WRITERS
from support.factories import make_facts, make_segment, make_transcript


def _talk(**fields):
    return make_transcript([make_segment("hello", 0, 1, "SPEAKER_00")], **fields)


def test_write_outputs_when_all_formats_then_named_after_the_stem(tmp_path):
    paths = write_outputs(_talk(), tuple(WRITERS), tmp_path, "2024.05.01.call")
    assert [path.name for path in paths] == [
        "2024.05.01.call" + writer.extension for writer in WRITERS.values()
    ]
    assert sorted(tmp_path.iterdir()) == sorted(paths)


def test_write_outputs_when_file_exists_then_replaced(tmp_path):
    (tmp_path / "talk.rttm").write_text("old")
    (path,) = write_outputs(_talk(), ["rttm"], tmp_path, "talk")
    assert path.read_text().startswith("SPEAKER talk 1")


def test_write_outputs_when_output_is_the_input_then_refused(tmp_path):
    recording = tmp_path / "talk.json"
    recording.write_bytes(b"RIFF")
    transcript = _talk(facts=make_facts(path=recording))
    with pytest.raises(RecordingError, match="would overwrite the input"):
        write_outputs(transcript, ["srt", "json"], tmp_path, "talk")
    assert recording.read_bytes() == b"RIFF"
    assert list(tmp_path.iterdir()) == [recording]


def test_check_inputs_kept_when_output_links_to_an_input_then_refused(tmp_path):
    recording = tmp_path / "talk.wav"
    recording.write_bytes(b"RIFF")
    link = tmp_path / "talk.srt"
    link.symlink_to(recording)
    with pytest.raises(UsageError, match="would overwrite the input"):
        check_inputs_kept([recording], [link])
    check_inputs_kept([recording, tmp_path / "gone.wav"], [tmp_path / "talk.rttm"])


def test_write_outputs_when_disk_is_full_then_temporary_is_gone_and_finished_files_stay(
    tmp_path, monkeypatch
):
    calls = []

    def full_at_the_second(descriptor):
        calls.append(descriptor)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(output.os, "fsync", full_at_the_second)
    with pytest.raises(RecordingError, match=r"no space left for .*talk\.srt"):
        write_outputs(_talk(), ["rttm", "srt"], tmp_path, "talk")
    assert [path.name for path in tmp_path.iterdir()] == ["talk.rttm"]


def test_write_outputs_when_interrupted_then_temporary_is_gone(tmp_path, monkeypatch):
    def interrupt(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr(output.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_outputs(_talk(), ["rttm"], tmp_path, "talk")
    assert list(tmp_path.iterdir()) == []


def test_write_outputs_when_name_is_too_long_then_one_plain_line(tmp_path):
    with pytest.raises(RecordingError, match="cannot be written"):
        write_outputs(_talk(), ["rttm"], tmp_path, "x" * 255)
    assert list(tmp_path.iterdir()) == []


def test_write_outputs_when_renderer_fails_then_no_file_is_written(tmp_path):
    transcript = _talk(session_id="")  # no field can be empty
    with pytest.raises(AssertionError):
        write_outputs(transcript, ["srt", "rttm"], tmp_path, "talk")
    assert list(tmp_path.iterdir()) == []


def test_write_outputs_when_path_has_undecodable_bytes_then_json_is_valid(tmp_path):
    transcript = _talk(facts=make_facts(path=Path("a\udcff.wav")), session_id="a\udcff")
    json_path, stm_path, seglst_path = write_outputs(
        transcript, ["json", "stm", "seglst"], tmp_path, "talk"
    )
    assert json.loads(json_path.read_bytes())["audio"]["path"] == "a\udcff.wav"
    assert json.loads(seglst_path.read_bytes())[0]["session_id"] == "a\udcff"
    assert stm_path.read_text().startswith("a%FF 1 ")


def test_check_directory_when_missing_then_created_and_left_empty(tmp_path):
    check_directory(tmp_path / "a" / "b")
    assert list((tmp_path / "a" / "b").iterdir()) == []


def test_check_directory_when_a_file_then_usage_error(tmp_path):
    (tmp_path / "f").write_text("")
    with pytest.raises(UsageError, match="is a file"):
        check_directory(tmp_path / "f")
    with pytest.raises(UsageError, match="cannot be written to"):
        check_directory(tmp_path / "f" / "below")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_check_directory_when_system_refuses_then_usage_error():
    with pytest.raises(UsageError, match="cannot be written to"):
        check_directory(Path("/proc/x"))


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_check_directory_when_not_writable_then_usage_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="cannot be written to"):
        check_directory(tmp_path)
    tmp_path.chmod(0o700)
