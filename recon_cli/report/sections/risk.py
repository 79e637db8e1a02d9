"""What noisy counts let an adversary believe about a person."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from recon_cli.evaluate.findings import Findings
from recon_cli.pipeline.stages import RISK
from recon_cli.report.charts import Chart, ChartRow, Mark, Panel
from recon_cli.report.document import Figure, ReportSection, result_table
from recon_cli.report.palette import BLUE, GREY, Look
from recon_cli.report.section import Section
from recon_cli.report.words import Words, count
from recon_cli.score.sheet import ResultTable
from recon_cli.store import Manifest

_KEY = "risk"
_TITLE = "Noisy counts: what an adversary may believe"
_ADVERSARIES = {
    "one_level": "uses one level",
    "two_levels": "uses the level above, too",
    "siblings_known": "knows the siblings' counts",
}
_POSTERIOR, _PRIOR = Look("after the release", BLUE[0]), Look("before", GREY[1], "diamond")


@dataclass(frozen=True)
class _Risk:
    """What `recon plan risk release` found.

    Attributes:
        manifest: Of ``risk/``.
        summary: As from `recon_cli.risk.release.mean_risks`.
    """

    manifest: Manifest
    summary: pl.DataFrame


def _read(findings: Findings) -> _Risk | None:
    if not findings.work.holds(RISK):
        return None
    folder = findings.work.open(RISK)
    return _Risk(folder.manifest, pl.read_parquet(folder.read_extra("summary.parquet")))


def _render(found: _Risk, words: Words) -> tuple[ReportSection, ...]:
    """What an adversary believes before and after the release."""
    text = (
        f"An adversary knows all of a {words.unit} but one {words.person}, and asks whether it is "
        "in the cell of the histogram where the truth has it. The posterior is what the noisy "
        "counts let him believe, the ratio is posterior over prior; nothing is "
        f"certain. Means over **{found.manifest.totals['people']:,}** {words.people}.",
    )
    figure = Figure(
        name="risk",
        title="What an adversary believes",
        caption="Mean posterior that a target is where the truth has him, by what is used.",
        alt="Mean posterior probability for each adversary, beside the prior.",
        chart=Chart(tuple(_panel(rows) for rows in _by_prior(found.summary)), 2),
        sheets=(_sheet(found, words),),
    )
    return (ReportSection(_KEY, _TITLE, text, (figure,)),)


def _by_prior(summary: pl.DataFrame) -> list[pl.DataFrame]:
    return summary.partition_by("prior", maintain_order=True)


def _panel(rows: pl.DataFrame) -> Panel:
    prior = 100 * rows["prior"][0]
    shown = tuple(
        ChartRow(
            _ADVERSARIES[row["adversary"]],
            (
                Mark(_PRIOR, prior),
                Mark(_POSTERIOR, 100 * row["posterior"], f"{100 * row['posterior']:.1f}%"),
            ),
        )
        for row in rows.iter_rows(named=True)
    )
    return Panel(f"Prior {prior:.3g}%", "posterior, %", shown, is_bars=False)


def _sheet(found: _Risk, words: Words) -> ResultTable:
    rows = [
        (
            _ADVERSARIES[row["adversary"]],
            f"{row['prior']:.4g}",
            f"{row['posterior']:.4f}",
            f"{row['ratio']:.3f}",
            f"{100 * row['correct']:.1f}",
            count(row["over_posterior"]),
            count(row["over_ratio"]),
        )
        for row in found.summary.iter_rows(named=True)
    ]
    header = ("adversary", "prior", "posterior", "ratio", "right %")
    flags = ("over the flagged posterior", "over the flagged ratio")
    return result_table(f"Means, and {words.people} over a flag", (*header, *flags), rows, 1)


SECTION = Section(_KEY, _TITLE, _read, _render)
