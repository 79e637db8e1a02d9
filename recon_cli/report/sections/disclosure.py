"""What is disclosed about parts of records: people by the columns that settle another one."""

from __future__ import annotations

from recon_cli.report.document import ReportSection, result_table
from recon_cli.report.findings import ClaimFindings, Findings
from recon_cli.report.words import Words, count, enumerate_words, percentage
from recon_cli.schema import Release
from recon_cli.score.sheet import ResultTable

_HEADER = ("columns known", "identity", "% of people", "attribute", "% of people", "inferential")


def disclosure_section(findings: Findings, words: Words) -> ReportSection:
    """Identity, attribute and inferential disclosure, over all subsets of the columns."""
    key, title = "disclosure", "Disclosure, on any columns"
    claims = findings.claims
    if not isinstance(claims, ClaimFindings):
        return ReportSection(key, title, missing=(claims,))
    totals = claims.manifest.totals
    text = [
        f"A claim states that exactly, or at least, so many people of a {words.unit} have some "
        f"values on some of {enumerate_words([words.columns.get(c, c) for c in claims.columns])}. "
        f"**{totals['claims']:,}** claims hold in every reconstruction; {totals['singletons']:,} "
        "of them are about exactly one person. Two claims may be about the same people.",
        "Who knows some columns of a person, and that the person is counted, learns another one: "
        "of somebody who is alone with these values (identity disclosure), of a group that is all "
        "alike (attribute disclosure), or with a proven share of at least "
        f"{percentage(claims.manifest.notes['share'], 1)} of the group (inferential disclosure). "
        "Each row includes the rows above, each kind those to its left.",
    ]
    rows = [
        (
            f"at most {row['known']}" if row["known"] else "none",
            count(row["identity"]),
            percentage(row["identity"], claims.people),
            count(row["attribute"]),
            percentage(row["attribute"], claims.people),
            count(row["inferential"]),
        )
        for row in claims.by_known.iter_rows(named=True)
    ]
    sheet = result_table(
        "People, at least, of whom another column is settled, by the columns known", _HEADER, rows
    )
    sheets = (
        (sheet,) if claims.surprise.is_empty() else (sheet, _surprise(claims, findings.release))
    )
    return ReportSection(key, title, tuple(text), sheets=sheets)


def _surprise(claims: ClaimFindings, release: Release) -> ResultTable:
    """What guessing gives claims about one person."""
    has_regions = claims.surprise["p_region"].is_not_null().any()
    header = ["columns", "claims about exactly one"]
    header += (
        [f"by guessing within the {release.region.name.replace('_', ' ')}"] if has_regions else []
    )
    rows = [
        (
            str(row["k"]),
            count(row["singletons"]),
            *([percentage(row["p_region"], 1)] if has_regions else []),
            percentage(row["p_all"], 1),
        )
        for row in claims.surprise.iter_rows(named=True)
    ]
    return result_table(
        "Surprise: the median chance of a claim if values had the shares that they have around it",
        (*header, "by guessing with everybody's shares"),
        rows,
    )
