"""Pictures: axes, legends and data, read from the figures."""

from __future__ import annotations

from itertools import combinations

import pytest

from murmur_cli.sweeps.figures import figures_of, front_of, rendered
from murmur_cli.sweeps.grid import PolicySetting
from murmur_cli.sweeps.report_files import sweep_html
from murmur_cli.sweeps.results import SweepResult
from murmur_cli.sweeps.table import cells, header, sweep_csv, sweep_json
from support.sweep_results import chunk_sweep, make_result, make_setting, make_summary


@pytest.fixture
def result() -> SweepResult:
    return chunk_sweep({30.0: (50.0, 300), 300.0: (100.0, 252), None: (400.0, 260)})


def texts(legend: object) -> list[str]:
    return [text.get_text() for text in legend.get_texts()]  # type: ignore[attr-defined]


def test_curves_when_drawn_then_accuracy_above_time_over_the_sizes(result: SweepResult) -> None:
    above, below = figures_of(result)["curves"].axes
    assert above.get_ylabel() == "tcpWER, %"
    assert below.get_ylabel() == "time, s"
    assert below.get_xlabel() == "longest chunk, s"
    assert [label.get_text() for label in below.get_xticklabels()] == ["30", "300", "full"]
    assert above.lines[0].get_xydata().tolist() == [[0, 30.0], [1, 25.2], [2, 26.0]]
    assert below.lines[0].get_xydata().tolist() == [[0, 50.0], [1, 100.0], [2, 400.0]]
    assert texts(above.get_legend()) == ["none"]
    assert below.get_ylim() == (0.0, pytest.approx(440.0))


def test_pareto_when_drawn_then_points_front_and_the_recommended(result: SweepResult) -> None:
    (axes,) = figures_of(result)["pareto"].axes
    assert axes.get_xlabel() == "time, s"
    assert texts(axes.get_legend()) == ["none", "Pareto front", "recommended"]
    assert axes.collections[0].get_offsets().tolist() == [
        [50.0, 30.0],
        [100.0, 25.2],
        [400.0, 26.0],
    ]
    # The whole is slower than 300 s and no better: not on the front.
    assert axes.lines[0].get_xydata().tolist() == [[50.0, 30.0], [100.0, 25.2]]
    assert axes.collections[1].get_offsets().tolist() == [[100.0, 25.2]]
    assert axes.get_title() == "Accuracy against time; lower left is better (labels: chunk)"
    # The recommended one has its label first, then the front.
    assert [text.get_text() for text in axes.texts] == ["300", "30", "full"]


def test_pareto_when_points_are_close_then_no_label_covers_another_or_a_point() -> None:
    figures = {30.0 + step: (100.0 + step % 7, 250 + step // 7) for step in range(40)}
    picture = figures_of(chunk_sweep(figures))["pareto"]
    (axes,) = picture.axes
    picture.draw_without_rendering()
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 5 < len(boxes) < 40
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    points = axes.transData.transform(axes.collections[0].get_offsets())
    assert not any(box.contains(*point) for box in boxes for point in points)
    assert all(axes.bbox.contains(*box.min) and axes.bbox.contains(*box.max) for box in boxes)


def test_pareto_when_policies_differ_in_one_option_then_its_values_are_the_labels() -> None:
    c3 = [PolicySetting("c3", (("budget", value),)) for value in ("128", "0.25")]
    settings = [make_setting(300.0), *(make_setting(300.0, policy) for policy in c3)]
    result = make_result(
        [make_summary(one, 100.0 - at, 250 + at) for at, one in enumerate(settings)],
        by_size=False,
    )
    (axes,) = figures_of(result)["pareto"].axes
    assert axes.get_title().endswith("(labels: budget)")
    assert sorted(text.get_text() for text in axes.texts) == ["0.25", "128"]


def test_curves_when_there_are_more_lines_than_colours_then_each_looks_different() -> None:
    policies = [PolicySetting("none"), *(PolicySetting(f"p{number}") for number in range(19))]
    result = make_result([make_summary(make_setting(300.0, one), 9.0, 250) for one in policies])
    above, _ = figures_of(result)["curves"].axes
    looks = {(line.get_color(), line.get_marker(), line.get_linestyle()) for line in above.lines}
    assert len(looks) == 20
    (axes,) = figures_of(result)["pareto"].axes
    marks = {
        (tuple(dots.get_facecolor()[0]), len(dots.get_paths()[0].vertices), str(dots.get_paths()))
        for dots in axes.collections[:20]
    }
    assert len(marks) == 20


def test_pareto_when_two_sizes_are_one_run_then_one_label() -> None:
    result = chunk_sweep({30.0: (50.0, 300), 300.0: (100.0, 252), None: (100.0, 252)})
    (axes,) = figures_of(result)["pareto"].axes
    assert [text.get_text() for text in axes.texts] == ["300, full", "30"]


def test_stages_when_drawn_then_a_bar_each_stacked(result: SweepResult) -> None:
    (axes,) = figures_of(result)["stages"].axes
    assert texts(axes.get_legend()) == ["recognition", "diarization"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["30", "300", "full"]
    widths = [[bar.get_width() for bar in bars] for bars in axes.containers]
    assert widths == [[37.5, 75.0, 300.0], [12.5, 25.0, 100.0]]
    assert [bar.get_x() for bar in axes.containers[1]] == [37.5, 75.0, 300.0]


def test_curves_when_policies_are_swept_then_over_the_share_read() -> None:
    speech = [PolicySetting("speech", (("window", str(size)),)) for size in (300, 100)]
    result = make_result(
        [
            make_summary(make_setting(300.0), 100.0, 250, read=100),
            make_summary(make_setting(300.0, speech[0]), 90.0, 252, read=60),
            make_summary(make_setting(300.0, speech[1]), 80.0, 280, read=20),
        ],
        by_size=False,
    )
    above, below = figures_of(result)["curves"].axes
    assert below.get_xlabel() == "KV entries read, % of full attention"
    assert texts(above.get_legend()) == ["none", "speech"]
    assert above.lines[1].get_xydata().tolist() == [[20.0, 28.0], [60.0, 25.2]]


def test_figures_when_a_setting_failed_then_it_is_left_out_of_them(result: SweepResult) -> None:
    broken = make_summary(make_setting(60.0), 1.0, 0, failure="no memory")
    wider = make_result([broken, *result.summaries])
    below = figures_of(wider)["curves"].axes[1]
    assert [label.get_text() for label in below.get_xticklabels()] == ["30", "300", "full"]
    assert figures_of(make_result([broken])) == {}
    assert front_of(wider, wider.summaries)[0].setting.size.label == "30"


def test_rendered_when_drawn_twice_then_the_same_bytes(result: SweepResult) -> None:
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        first, second = (rendered(figures_of(result)["stages"], kind) for _ in range(2))
        assert first.startswith(start)
        assert first == second


def test_page_when_written_then_it_needs_nothing_else(result: SweepResult) -> None:
    pictures = {
        f"{name}.svg": rendered(figure, "svg") for name, figure in figures_of(result).items()
    }
    page = sweep_html(result, pictures)
    assert page.count('src="data:image/svg+xml;base64,') == 3
    assert "http" not in page
    assert "<script" not in page
    assert result.recommendation is not None
    assert result.recommendation.text in page
    assert page.count('<tr class="chosen">') == 1


def test_table_when_made_then_a_row_each_with_its_figures(result: SweepResult) -> None:
    titles, row = header(result), cells(result, result.summaries[1])
    assert dict(zip(titles, row, strict=True)) == {
        "chunk": "300",
        "tcpWER": "25.20",
        "time s": "100.00",
        "× real time": "0.6",
        "peak MB": "1",
        "KV entries read": "80",
        "of full": "0.800",
        "failed": "",
    }
    assert sweep_csv(result).splitlines()[0].startswith("model,chunk,policy,tcpwer_percent")
    assert '"percent": 25.2' in sweep_json(result)
