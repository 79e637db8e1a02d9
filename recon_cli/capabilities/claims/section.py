"""The report's section on disclosure of parts of records, by columns that determine another."""

from __future__ import annotations

from recon_cli.capabilities.findings.findings import ClaimFindings, Findings
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words, capitalized, count, percentage
from recon_cli.schema import Release

_KEY = "disclosure"
_TITLE = "Disclosure, on any columns"


def _render(claims: ClaimFindings, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report identity, attribute and inferential disclosure, over all subsets of the columns."""
    text = sentences("section.j2", "text", __package__, found=claims, words=words)
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
    share = f"% of {words.people}"
    sheet = result_table(
        f"{capitalized(words.people)}, at least, of {words.whom} another column is settled, by the "
        "columns known",
        ("columns known", "identity", share, "attribute", share, "inferential"),
        rows,
    )
    surprise = () if claims.surprise.is_empty() else (_surprise(claims, findings.release, words),)
    return (ReportSection(_KEY, _TITLE, tuple(text), sheets=(sheet, *surprise)),)


def _surprise(claims: ClaimFindings, release: Release, words: Words) -> ResultTable:
    """Tabulate the probability that a guess is a true claim about exactly one record."""
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
        (*header, f"by guessing with the shares of {words.everybody}"),
        rows,
    )


SECTION = Section(_KEY, _TITLE, lambda findings: findings.claims, _render)
