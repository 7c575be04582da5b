"""Texts beside points of a picture, none over another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE_POINTS = 8
RADIUS_POINTS = 4.0
"""Of a point, about."""

PLACES = (
    ((5, 4), "left", "bottom"),
    ((5, -4), "left", "top"),
    ((-5, 4), "right", "bottom"),
    ((-5, -4), "right", "top"),
    ((0, 7), "center", "bottom"),
    ((0, -7), "center", "top"),
)
"""Offset in points, and which edges of the text lie there; the first that is free is taken."""

Place = tuple[float, float]


def label_points(axes: Axes, labels: Sequence[tuple[Place, str]]) -> None:
    """Write each text beside its point, where it covers no point and no earlier text, and stays
    inside the axes. One that finds no room is left out, so the most important come first.

    Everything else must be drawn already: the layout is made here.
    """
    from matplotlib.transforms import Bbox

    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()
    radius = RADIUS_POINTS * figure.dpi / 72
    taken = []
    for place, _ in labels:
        x, y = axes.transData.transform(place)
        taken.append(Bbox.from_extents(x - radius, y - radius, x + radius, y + radius))
    for place, text in labels:
        for offset, across, up in PLACES:
            note = axes.annotate(
                text,
                place,
                xytext=offset,
                textcoords="offset points",
                size=SIZE_POINTS,
                horizontalalignment=across,
                verticalalignment=up,
            )
            box = note.get_window_extent()
            frame = axes.bbox
            inside = frame.contains(box.x0, box.y0) and frame.contains(box.x1, box.y1)
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            note.remove()
