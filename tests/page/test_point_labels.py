"""Names of points lie over no other name, as long as there is room."""

from __future__ import annotations

import random

from recon_cli.page.charts import Chart, ChartRow, Panel
from recon_cli.page.drawing import NOTHING, draw
from recon_cli.page.svg import _box, _meet, place_labels


def test_names_of_near_points_do_not_overlap() -> None:
    draw = random.Random(1)  # noqa: S311 - cases of a test
    for _ in range(30):
        points = [
            (draw.uniform(60, 330), draw.choice([40.0, 45.0, 120.0]), name)
            for name in ("none", "lo", "targeted", "hi", "no-single-years", "totals", "tracts")
        ]
        labels = place_labels(points, (50, 0, 350, 200))
        assert [label.text for label in labels] == [name for *_, name in points]
        boxes = [_box(label) for label in labels]
        assert not any(_meet(a, b) for i, a in enumerate(boxes) for b in boxes[:i])
        for label, (x, y, _) in zip(labels, points, strict=True):
            is_near = abs(label.x - x) + abs(label.y - 4 - y) < 24
            assert is_near or label.point == (x, y)
        assert all(left >= 50 and right <= 350 for left, _, right, _ in boxes)


def test_a_name_longer_than_the_plot_is_placed_all_the_same() -> None:
    (label,) = place_labels([(10.0, 10.0, "x" * 90)], (0, 0, 100, 100))
    assert (label.x, label.at_end) == (18.0, False)


def test_a_chart_without_a_value_says_so() -> None:
    chart = Chart((Panel("Links", "%", (ChartRow("all", ()),), is_bars=True),))
    assert NOTHING in draw(chart, 720)
