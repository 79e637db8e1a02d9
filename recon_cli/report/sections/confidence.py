"""Confidence of the records that are not certain, and how far it is to be believed."""

from __future__ import annotations

from recon_cli.evaluate.fresh import Missing
from recon_cli.report.document import ReportSection, result_table
from recon_cli.report.findings import Findings
from recon_cli.report.words import count, percent

_HEADER = ("confidence", "records", "mean confidence %", "right %", "interval")


def confidence_sections(findings: Findings) -> tuple[ReportSection, ...]:
    """The section, where solutions were sampled; none where they were not."""
    found = findings.confidence
    key, title = "confidence", "Confidence of records that are not certain"
    if found is None:
        return ()
    if isinstance(found, Missing):
        return (ReportSection(key, title, missing=(found,)),)
    notes, totals = found.manifest.notes, found.manifest.totals
    left = totals["people"] - totals["certain"] - totals["not_sampled"]
    text = [
        f"Of {totals['people']:,} records {left:,} are not shown to be certain by propagation. "
        "The confidence of such a record is how often it appears among this reconstruction and "
        f"{notes['solutions']} other ones, sampled. They are not drawn uniformly from all, and a "
        "record in each of them may be missing from another one: **confidence is no proof**, and "
        "certain records have none.",
    ]
    if found.calibration is None:
        text.append(
            "How often such records are right is not known: that takes the truth, `recon link` and "
            "`recon score`."
        )
        rows = [
            (_tenth(tenth), count(records), "–", "–", "")
            for tenth, records in found.tenths.iter_rows()
        ]
        sheet = result_table("Records by tenth of confidence", _HEADER, rows)
        return (ReportSection(key, title, tuple(text), sheets=(sheet,)),)
    text.append(
        "A record is right if the truth has it, one to one, on all these columns, beyond the "
        "certain ones. Nothing was fitted to the truth."
    )
    sheets = tuple(
        result_table(
            f"Confidence beside the truth, {truth}",
            _HEADER,
            [_row(row) for row in found.calibration.filter(truth=truth).iter_rows(named=True)],
        )
        for truth in found.calibration["truth"].unique(maintain_order=True)
    )
    return (ReportSection(key, title, tuple(text), sheets=sheets),)


def _row(row: dict[str, float | None]) -> tuple[str, ...]:
    span = "" if row["low"] is None else f"{percent(row['low'])}–{percent(row['high'])}"
    shares = (percent(row["confidence_pct"]), percent(row["right_pct"]))
    return (_tenth(int(row["tenth"] or 0)), count(row["records"]), *shares, span)


def _tenth(number: int) -> str:
    return f"{10 * number}–{10 * number + 10}%"
