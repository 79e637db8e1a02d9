"""The report's section on the belief of an adversary about a person."""

from __future__ import annotations

import polars as pl

from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.section import Section
from recon_cli.capabilities.risk import RISK
from recon_cli.page.charts import BLUE, GREY, Chart, ChartRow, Look, Mark, Panel
from recon_cli.page.document import Figure, ReportSection, ResultTable, result_table
from recon_cli.page.words import Words, count
from recon_cli.store import Folder

_KEY = "risk"
_TITLE = "Noisy counts: what an adversary may believe"
_ADVERSARIES = {
    "one_level": "uses one level",
    "two_levels": "uses the level above, too",
    "siblings_known": "knows the siblings' counts",
}
_POSTERIOR, _PRIOR = Look("after the release", BLUE[0]), Look("before", GREY[1], "diamond")


def _read(findings: Findings) -> Folder | None:
    """Return the folder, whatever it was made from: it has no partitions of tables."""
    return findings.work.open(RISK) if findings.work.holds(RISK) else None


def _render(folder: Folder, _: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report an adversary's belief before and after the release."""
    text = (
        f"An adversary knows all of a {words.unit} but one {words.person}, and asks whether it is "
        "in the cell of the histogram where the truth has it. The posterior is what the noisy "
        "counts let him believe, the ratio is posterior over prior; nothing is "
        f"certain. Means over **{folder.manifest.totals['people']:,}** {words.people}.",
    )
    summary = pl.read_parquet(folder.read_extra("summary.parquet"))
    figure = Figure(
        name="risk",
        title="What an adversary believes",
        caption="Mean posterior that a target is where the truth has him, by what is used.",
        alt="Mean posterior probability for each adversary, beside the prior.",
        chart=Chart(tuple(map(_panel, summary.partition_by("prior", maintain_order=True))), 2),
        sheets=(_sheet(summary, words),),
    )
    return (ReportSection(_KEY, _TITLE, text, (figure,)),)


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


def _sheet(summary: pl.DataFrame, words: Words) -> ResultTable:
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
        for row in summary.iter_rows(named=True)
    ]
    header = ("adversary", "prior", "posterior", "ratio", "right %")
    flags = ("over the flagged posterior", "over the flagged ratio")
    return result_table(f"Means, and {words.people} over a flag", (*header, *flags), rows, 1)


SECTION = Section(_KEY, _TITLE, _read, _render)
