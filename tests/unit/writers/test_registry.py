import pytest

from murmur_cli.errors import UsageError
from murmur_cli.writers.registry import WRITERS, parse_formats


def test_parse_formats_when_commas_and_repeats_then_each_once_in_order():
    assert parse_formats(["stm, RTTM", "json,stm"]) == ("stm", "rttm", "json")


def test_parse_formats_when_all_then_every_format():
    assert parse_formats(["ctm,all"]) == ("ctm", *(name for name in WRITERS if name != "ctm"))


def test_parse_formats_when_name_is_unknown_then_lists_and_suggests():
    with pytest.raises(UsageError, match=r"mean srt.*rttm, srt, json.*all$"):
        parse_formats(["srtt"])


@pytest.mark.parametrize("values", [[], [""], [" , "]])
def test_parse_formats_when_nothing_is_named_then_usage_error(values):
    with pytest.raises(UsageError, match="names no format"):
        parse_formats(values)


def test_writers_when_listed_then_extensions_differ():
    assert len({writer.extension for writer in WRITERS.values()}) == len(WRITERS) == 8
