"""The report's section on disclosure of parts of records, by columns that determine another."""

from __future__ import annotations

from recon_cli.capabilities.findings.findings import ClaimFindings, Findings
from recon_cli.capabilities.findings.section import Section
from recon_cli.page.document import ReportSection, ResultTable, result_table
from recon_cli.page.words import (
    Words,
    capitalized,
    count,
    enumerate_words,
    percentage,
    stopped_words,
)
from recon_cli.schema import Release

_KEY = "disclosure"
_TITLE = "Disclosure, on any columns"


def _render(claims: ClaimFindings, findings: Findings, words: Words) -> tuple[ReportSection, ...]:
    """Report identity, attribute and inferential disclosure, over all subsets of the columns."""
    totals = claims.manifest.totals
    listed = enumerate_words([words.columns.get(c, c) for c in claims.columns])
    text = [
        *stopped_words(claims.manifest),
        f"A claim states that exactly, or at least, so many {words.people} of a {words.unit} have "
        f"some values on some of {listed}. **{totals['claims']:,}** claims hold in every "
        f"reconstruction; {totals['singletons']:,} of them are about exactly one {words.person}. "
        f"Two claims may be about the same {words.people}."
        + _absences(totals.get("absent", 0), words),
        f"Who knows some columns of a {words.person}, and that the {words.person} is counted, "
        f"learns another one: of {words.somebody} {words.who} is alone with these values (identity "
        "disclosure), of a group that is all alike (attribute disclosure), or with a proven share "
        f"of at least {percentage(claims.manifest.notes['share'], 1)} of the group (inferential "
        "disclosure). Each row includes the rows above, each kind those to its left.",
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
    share = f"% of {words.people}"
    sheet = result_table(
        f"{capitalized(words.people)}, at least, of {words.whom} another column is settled, by the "
        "columns known",
        ("columns known", "identity", share, "attribute", share, "inferential"),
        rows,
    )
    surprise = () if claims.surprise.is_empty() else (_surprise(claims, findings.release, words),)
    return (ReportSection(_KEY, _TITLE, tuple(text), sheets=(sheet, *surprise)),)


def _absences(claims: int, words: Words) -> str:
    """Count the claims of absence; they disclose nobody, and are counted apart."""
    if not claims:
        return ""
    return f" Besides, {claims:,} say of which values {words.nobody} is there."


def _surprise(claims: ClaimFindings, release: Release, words: Words) -> ResultTable:
    """Tabulate how likely guessing makes claims about exactly one record."""
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
