"""Table, JSON and picture of fixed figures; expected files in tests/golden/bench."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from murmur_cli.bench import report_json, report_picture, report_table
from murmur_cli.bench.record import Column
from murmur_cli.bench.report_files import write_report
from murmur_cli.errors import UsageError
from support.bench_reports import fixed_report

GOLDEN = Path(__file__).parents[2] / "golden" / "bench"


def test_report_when_written_then_files_are_the_expected_ones(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    for path in write_report(fixed_report(), tmp_path / "new" / "folder"):
        golden = GOLDEN / path.name
        if request.config.getoption("--refresh-golden"):
            golden.parent.mkdir(exist_ok=True)
            golden.write_bytes(path.read_bytes())
        assert path.read_text("utf-8") == golden.read_text("utf-8"), path.name


def test_cells_when_measured_then_median_spread_and_ratio_of_rounds() -> None:
    part = fixed_report().parts[0]
    theirs, ours, absent, half = (report_table.cells(part, row) for row in part.rows)
    assert theirs == ("theirs", "6.00", "4.00", "5.00–7.00", "3", "1.00", "20.00")
    # Rounds: 4/2, 8/2, 6/2.
    assert ours == ("ours | both", "2.00", "2.00", "2.00–2.00", "3", "3.00", "19.12")
    assert absent == ("absent", "not run: no peers here", "–", "–", "–", "–", "–")
    assert half == ("half", *["–"] * 6)
    assert len(report_table.header(part)) == len(theirs)


def test_markdown_when_recordings_have_figures_then_a_table_of_each() -> None:
    lines = report_table.markdown(fixed_report()).splitlines()
    at = lines.index("found of each recording:")
    assert lines[at + 2 : at + 6] == [
        "| recording | in truth | theirs | half |",
        "| --- | ---: | ---: | ---: |",
        "| one | 2 | 3 | 2 |",
        "| two \\| b | 4 | 4 | 1 |",
    ]


def test_cells_when_the_scale_is_milliseconds_then_times_are() -> None:
    part = fixed_report().parts[1]
    assert report_table.cells(part, part.rows[1])[1] == "10.00"


def test_json_when_read_then_every_repeat_and_ratio_is_there() -> None:
    document = json.loads(report_json.render(fixed_report()))
    theirs, ours, absent, half = document["parts"][0]["rows"]
    assert theirs["samples_s"] == [4.0, 8.0, 6.0]
    assert theirs["spread_s"]["lower_quartile"] == 5.0
    assert ours["times_faster"] == 3.0
    assert absent["not_run"] == "no peers here"
    assert absent["spread_s"] is None
    assert half["times_faster"] is None
    assert half["recordings"]["two | b"] == {"wer_percent": None, "found": 1, "true": 4}
    assert ours["recordings"] == {}
    assert document["remarks"] == ["a remark"]


def test_picture_when_drawn_then_it_is_xml_with_all_names_and_lies_within_its_paper() -> None:
    root = ElementTree.fromstring(report_picture.render(fixed_report()))
    space = "{http://www.w3.org/2000/svg}"
    texts = {text.text for text in root.iter(f"{space}text")}
    assert {"Recogniser <fixed>", "ours | both", "not run: no peers here"} <= texts
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for shape in root.iter(f"{space}rect"):
        assert float(shape.get("x", 0)) + float(shape.attrib["width"]) <= width
        assert float(shape.get("y", 0)) + float(shape.attrib["height"]) <= height
    points = [(float(c.attrib["cx"]), float(c.attrib["cy"])) for c in root.iter(f"{space}circle")]
    assert len(points) == 2  # the broken row has no point
    assert points[0][0] < points[1][0]  # faster is right
    assert points[0][1] > points[1][1]  # more errors are up


def test_column_when_scaled_then_digits_and_unit_are_its_own() -> None:
    assert Column("bytes", "MB", digits=0, divisor=1e6).text(1_234_600_000) == "1,235"
    assert Column("x", "x").text(None) == "–"
    assert Column("x", "x").text("equal") == "equal"


def test_report_when_the_folder_is_a_file_then_usage_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(UsageError, match="give another -o"):
        write_report(fixed_report(), tmp_path / "taken")
