"""NAME=FILE and files of voices, as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from murmur_cli.enrolment.request import ClipRequest, parse_requests
from murmur_cli.errors import UsageError


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.wav", "b=c.wav", "notes.txt"):
        Path(name).write_text("no matter", "utf-8")


@pytest.mark.parametrize(
    ("value", "name", "path"),
    [
        ("Anna=a.wav", "Anna", "a.wav"),
        (" Jane   Roe =a.wav", "Jane Roe", "a.wav"),
        ("Zoe\u0308=a.wav", "Zo\u00eb", "a.wav"),
        ("A=B=a.wav", "A=B", "a.wav"),
        ("Anna=b=c.wav", "Anna", "b=c.wav"),
        ("A=B=b=c.wav", "A=B", "b=c.wav"),
    ],
)
def test_request_when_name_and_file_are_given_then_parted_where_a_file_is(
    value: str, name: str, path: str
) -> None:
    assert parse_requests([value], "--enroll").clips == (ClipRequest(name, Path(path)),)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Anna=gone.wav", "--enroll Anna=gone.wav: gone.wav: no such file"),
        ("Anna=", "--enroll Anna=: the file is missing; give NAME=FILE"),
        ("=a.wav", "--enroll =a.wav: the name is empty"),
        ("gone.json", "--enroll gone.json: no such file; give NAME=FILE, or a file that"),
        ("a.wav", "a.wav: not a file of 'murmur enroll'; for a clip write NAME=a.wav"),
        ("SPEAKER_01=a.wav", "speakers who are not known are called so"),
        ("unknown=a.wav", "'unknown' stands for nobody"),
        ("A\u0007=a.wav", "holds control characters"),
        ("Anna=.", "no such file"),
    ],
)
def test_request_when_wrong_then_usage_error_in_one_line(value: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        parse_requests([value], "--enroll")
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
