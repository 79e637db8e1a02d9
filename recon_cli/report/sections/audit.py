"""What the published counts give away of those that are suppressed or rounded."""

from __future__ import annotations

from recon_cli.evaluate.fresh import Missing
from recon_cli.report.document import ReportSection, result_table
from recon_cli.report.findings import Findings
from recon_cli.report.words import Words, count, percentage

_HEADER = ("level", "table", "counts", "recovered", "within range", "safe", "undecided")


def audit_sections(findings: Findings, words: Words) -> tuple[ReportSection, ...]:
    """The section, where counts were audited; none where they were not."""
    found = findings.audit
    key, title = "audit", "Counts that were suppressed, rounded or left out"
    if found is None:
        return ()
    if isinstance(found, Missing):
        return (ReportSection(key, title, missing=(found,)),)
    cells, statuses = found.manifest.totals["cells"], found.manifest.statuses
    if not cells:
        return (
            ReportSection(
                key,
                title,
                ("No count is left out, or declared to be suppressed, rounded or perturbed.",),
            ),
        )
    recovered = statuses.get("recovered", 0)
    safety = found.manifest.notes["safety"]
    apart = "differ" if safety == 1 else f"are at least {safety} apart"
    without = f", of which {found.left_out:,} are left out of tables" if found.left_out else ""
    text = (
        f"**{recovered:,}** of {cells:,} counts that are not published exactly{without} "
        f"({percentage(recovered, cells)}) are recovered: all other counts together leave one "
        f"number. A count is safe if two reconstructions are known in which its numbers {apart}; "
        f"it is undecided if neither was shown within the effort. Any {words.unit} and all "
        "coarser places are taken together, as anybody can.",
        "This rests on what the release says of its own protection: if counts were suppressed or "
        "rounded in another way, it is not true of them.",
    )
    rows = [
        (row["level"], row["table"], *(count(row[name]) for name in found.by_table.columns[2:]))
        for row in found.by_table.iter_rows(named=True)
    ]
    sheet = result_table("Counts that are not published exactly", _HEADER, rows, 2)
    return (ReportSection(key, title, text, sheets=(sheet,)),)
