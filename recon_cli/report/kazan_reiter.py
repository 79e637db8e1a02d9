"""Charts of the figures of Kazan & Reiter."""

from __future__ import annotations

import polars as pl

from recon_cli.report.charts import Chart
from recon_cli.report.curves import Curve, CurvePanel, CurvePoint, Scale, curve_looks
from recon_cli.risk.kazan_reiter import StudyFigure


def study_chart(figure: StudyFigure, points: pl.DataFrame) -> Chart:
    """A figure drawn.

    Args:
        figure: What its axes are.
        points: Its curves, columns of `recon_cli.risk.kazan_reiter.POINTS`.
    """
    panels = []
    for panel in points.partition_by("panel", maintain_order=True):
        parts = panel.partition_by("series", maintain_order=True)
        looks = curve_looks([part["series"][0] for part in parts])
        curves = tuple(
            Curve(look, tuple(CurvePoint(x, y) for x, y in part.select("x", "y").rows()))
            for look, part in zip(looks, parts, strict=True)
        )
        x = Scale(figure.x, is_log=figure.is_log)
        panels.append(CurvePanel(panel["panel"][0], x, Scale(figure.unit), curves))
    return Chart(tuple(panels), min(2, len(panels)))
