from urllib.parse import unquote

import pytest

from murmur_cli.writers.field import escape_field, one_line


@pytest.mark.parametrize(
    ("name", "escaped"),
    [
        ("1505728826.11848331", "1505728826.11848331"),
        ("007", "007"),
        ("1e5", "1e5"),
        ("100%d", "100%d"),
        ("Jane Roe", "Jane%20Roe"),
        ("a%20b", "a%2520b"),
        ("tab\tnew\nline", "tab%09new%0Aline"),
        ("会议 é", "会议%20é"),
        ("no\u00a0break\u3000wide", "no%C2%A0break%E3%80%80wide"),
        (";x;y", "%3Bx;y"),
        ("MOT*", "MOT*"),
        ("bad\udcffbyte", "bad%FFbyte"),
    ],
)
def test_escape_field_when_name_is_odd_then_one_field_that_reads_back(name, escaped):
    assert escape_field(name) == escaped
    assert escaped.split() == [escaped]
    assert unquote(escaped, errors="surrogateescape") == name


def test_one_line_when_text_has_line_breaks_then_single_spaces():
    assert one_line("  a\n\nb\t c ") == "a b c"
