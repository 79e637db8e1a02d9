"""The report's section on confidence of uncertain records, and its calibration."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from recon_cli.capabilities.confidence import CONFIDENCE
from recon_cli.capabilities.findings.findings import Findings
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.section import Section, folder_of
from recon_cli.capabilities.score import SCORE
from recon_cli.capabilities.score.confidence import CALIBRATION, count_tenths
from recon_cli.page.document import ReportSection, result_table
from recon_cli.page.words import Words, count, percent
from recon_cli.store import Folder, open_folder

_KEY = "confidence"
_TITLE = "Confidence of records that are not certain"
_HEADER = ("confidence", "records", "mean confidence %", "right %", "interval")


def _render(folder: Folder, findings: Findings, _: Words) -> tuple[ReportSection, ...]:
    """Report records by tenth of their confidence, beside the truth if known."""
    notes, totals = folder.manifest.notes, folder.manifest.totals
    left = totals["people"] - totals["certain"] - totals["not_sampled"]
    text = [
        f"Of {totals['people']:,} records {left:,} are not shown to be certain by propagation. "
        "The confidence of such a record is how often it appears among this reconstruction and "
        f"{notes['solutions']} other ones, sampled. They are not drawn uniformly from all, and a "
        "record in each of them may be missing from another one: **confidence is no proof**, and "
        "certain records have none.",
    ]
    calibrated = _calibration(folder, findings.work)
    if calibrated is None:
        text.append(
            "How often such records are right is not known: that takes the truth, `recon link` and "
            "`recon score`."
        )
        rows = [
            (_tenth(tenth), count(records), "–", "–", "")
            for tenth, records in count_tenths(folder.parts(("confidence",))).iter_rows()
        ]
        sheet = result_table("Records by tenth of confidence", _HEADER, rows)
        return (ReportSection(_KEY, _TITLE, tuple(text), sheets=(sheet,)),)
    text.append(
        "A record is right if the truth has it, one to one, on all these columns, beyond the "
        "certain ones. Nothing was fitted to the truth."
    )
    sheets = tuple(
        result_table(
            f"Confidence beside the truth, {truth}",
            _HEADER,
            [_row(row) for row in calibrated.filter(truth=truth).iter_rows(named=True)],
        )
        for truth in calibrated["truth"].unique(maintain_order=True)
    )
    return (ReportSection(_KEY, _TITLE, tuple(text), sheets=sheets),)


def _calibration(folder: Folder, work: WorkFolder) -> pl.DataFrame | None:
    """Read the results of `recon score` for these records; None without a truth."""
    score = work.open(SCORE) if work.holds(SCORE) else None
    if score is None or score.manifest.inputs["shared"].get("confidence/") != folder.manifest.key:
        return None
    return pl.read_csv(score.read_extra("confidence.csv"), schema=CALIBRATION)


def _row(row: dict[str, float | None]) -> tuple[str, ...]:
    span = "" if row["low"] is None else f"{percent(row['low'])}–{percent(row['high'])}"
    shares = (percent(row["confidence_pct"]), percent(row["right_pct"]))
    return (_tenth(int(row["tenth"] or 0)), count(row["records"]), *shares, span)


def _tenth(number: int) -> str:
    return f"{10 * number}–{10 * number + 10}%"


SECTION = Section(_KEY, _TITLE, folder_of(CONFIDENCE), _render)


def read_tenths(work: Path) -> pl.DataFrame:
    """Count uncertain records by tenth of their confidence: ``tenth``, ``records``."""
    folder = open_folder(work, CONFIDENCE, "confidence")
    return count_tenths(folder.parts(("confidence",)))
