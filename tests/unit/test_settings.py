import math
from typing import Any

import pytest

from murmur_cli.errors import ExitCode, UsageError
from murmur_cli.settings import Precision, TranscribeSettings, check_hints, parse_precision
from murmur_cli.types import SpeakerHints


def test_settings_when_nothing_is_given_then_the_documented_defaults() -> None:
    settings = TranscribeSettings()
    assert (settings.model, settings.chunk_s, settings.evict) == ("auto", 300.0, "none")
    assert (settings.batch_size, settings.task, settings.diarize) == (16, "transcribe", True)
    assert settings.formats == ("rttm", "srt", "json")


@pytest.mark.parametrize("chunk_s", [0.0, 0.99, -300.0, math.nan, math.inf])
def test_settings_when_chunk_is_out_of_range_then_usage_error(chunk_s: float) -> None:
    with pytest.raises(UsageError, match=r"--chunk .*: give at least 1 seconds, or 'auto'"):
        TranscribeSettings(chunk_s=chunk_s)


@pytest.mark.parametrize("chunk_s", [1.0, 300.0, 86_400.0, None])
def test_settings_when_chunk_is_in_range_then_kept(chunk_s: float | None) -> None:
    assert TranscribeSettings(chunk_s=chunk_s).chunk_s == chunk_s


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch_size": 0}, "--batch-size 0: give 1 to 4096"),
        ({"batch_size": 999_999_999}, "--batch-size 999999999: give 1 to 4096"),
        ({"task": "summarise"}, "--task summarise: known tasks are transcribe, translate"),
        ({"language": ""}, "--language is empty"),
        ({"hints": SpeakerHints(exact=0)}, "--speakers 0: give 1 or more"),
    ],
)
def test_settings_when_an_option_is_wrong_then_usage_error_names_it(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message) as raised:
        TranscribeSettings(**options)
    assert raised.value.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    "hints",
    [
        SpeakerHints(),
        SpeakerHints(exact=1),
        SpeakerHints(minimum=2),
        SpeakerHints(maximum=6),
        SpeakerHints(minimum=3, maximum=3),
    ],
)
def test_hints_when_they_can_be_meant_then_accepted(hints: SpeakerHints) -> None:
    check_hints(hints)


@pytest.mark.parametrize(
    ("hints", "message"),
    [
        (SpeakerHints(minimum=0), "--min-speakers 0: give 1 or more"),
        (SpeakerHints(maximum=-1), "--max-speakers -1: give 1 or more"),
        (SpeakerHints(minimum=4, maximum=3), "--min-speakers 4 is more than --max-speakers 3"),
        (SpeakerHints(exact=2, minimum=1), "--speakers is exact"),
        (SpeakerHints(exact=2, maximum=2), "--speakers is exact"),
    ],
)
def test_hints_when_they_cannot_be_meant_then_usage_error(
    hints: SpeakerHints, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        check_hints(hints)


@pytest.mark.parametrize("precision", list(Precision))
def test_precision_when_known_then_parsed(precision: Precision) -> None:
    assert parse_precision(precision.value) is precision


def test_precision_when_unknown_then_usage_error_lists_the_known() -> None:
    with pytest.raises(UsageError, match="--precision int4: known are float32, exact, fast"):
        parse_precision("int4")
