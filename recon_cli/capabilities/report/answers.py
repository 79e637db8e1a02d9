"""Answers for decision makers: who, by which tables, what helps, how sure, from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from recon_cli.capabilities.contributions import CONTRIBUTIONS
from recon_cli.capabilities.findings.checked import proof_basis
from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    ReconstructionFindings,
)
from recon_cli.page.document import Hyperlink, KeyAnswer
from recon_cli.page.missing import Missing
from recon_cli.page.sentences import sentences
from recon_cli.page.words import Words
from recon_cli.schema.description import describe_cell
from recon_cli.stage import INGEST
from recon_cli.store import Manifest
from recon_cli.store.published import READING

#: Most places that are named for their recovered counts.
_WORST: Final = 5
#: Share of disclosed people from which a size class is worth a hint.
_MOST: Final = 0.5
#: Factor by which that share must exceed the class's share of all people.
_WORSE: Final = 1.1


def make_answers(
    findings: Findings, words: Words, forcing: Sequence[str] = ()
) -> tuple[KeyAnswer, ...]:
    """Make the answers; none if neither records nor counts were examined.

    Args:
        forcing: Tables whose cells force certain records of the worst place.
    """
    found, audit = findings.reconstruction, findings.audited
    has_records = not isinstance(found, Missing)
    if audit is None and not has_records:
        return ()
    recovered = 0 if audit is None else audit.recovered
    rule = ""
    if not isinstance(found, Missing) and not found.is_fitted:
        is_examined = isinstance(findings.claims, ClaimFindings)
        rule = _say("rule", rule=findings.rule, is_examined=is_examined, words=words)
    advice = _say(
        "advice",
        has_records=has_records,
        has_recovered=recovered > 0,
        laws=findings.kinds_of_law,
        is_exact=not findings.laws,
        small=None if isinstance(found, Missing) else _small_units(found),
        words=words,
    )
    basis = proof_basis(findings.work)
    answers = [
        _who(findings, words),
        KeyAnswer("For example", "" if audit is None else _example(findings, audit)),
        KeyAnswer("By which tables", _tables(findings, audit, words, forcing)),
        KeyAnswer("Who could know it", _knowers(findings, words, has_counts=recovered > 0)),
        KeyAnswer("What now", advice),
        KeyAnswer("Rule", rule, is_aside=True),
        KeyAnswer(
            "How sure", _say("sureness", found=found, basis=basis, words=words), is_aside=True
        ),
        KeyAnswer("Who may see this", _say("readers", findings=findings), is_aside=True),
        KeyAnswer("When, from what", _origin(findings), _readings(findings), is_aside=True),
    ]
    return tuple(answer for answer in answers if answer.text)


def _say(macro: str, **facts: object) -> str:
    """Write the sentences of an answer."""
    return " ".join(sentences("answers.j2", macro, __package__, **facts))


def _who(findings: Findings, words: Words) -> KeyAnswer:
    """Name the worst places, each linked to its page."""
    if not findings.places:
        return KeyAnswer("Who", "")
    links = [
        Hyperlink(
            _say("place", it=place, words=words),
            place.page,
            _say("found_there", it=place, words=words),
        )
        for place in findings.places[:_WORST]
    ]
    is_of_counts = isinstance(findings.reconstruction, Missing)
    lead = _say("who", is_of_counts=is_of_counts, has_several=len(findings.places) > 1)
    return KeyAnswer("Who", lead, tuple(links))


def _example(findings: Findings, audit: AuditFindings) -> str:
    """Describe one recovered count, that of fewest people."""
    counts = audit.recovered_counts.filter(pl.col("count") > 0)
    if counts.is_empty() or not findings.lists_places:
        return ""
    row = counts.sort(pl.col("is_small").not_(), "count", "geoid", "table", "cell").row(
        0, named=True
    )
    table = findings.release.table_by_name[row["table"]]
    place = audit.names.get(row["geoid"]) or row["geoid"]
    whom = describe_cell(findings.release, table.cells[row["cell"] - 1])
    return f"{place}, {whom}: {row['count']:,} ({table.title or table.name})."


def _tables(
    findings: Findings, audit: AuditFindings | None, words: Words, forcing: Sequence[str]
) -> str:
    """Name the tables that provably reveal counts, and those used for records."""
    found, used = findings.reconstruction, None
    has_contributions = False
    if not isinstance(found, Missing):
        used = found.manifest
        asks = len(used.notes["tables"]) > 1 and not findings.work.holds(CONTRIBUTIONS)
        has_contributions = asks and _has_records(findings)
    elif audit is not None and not audit.recovered:
        used = audit.manifest
    return _say(
        "tables",
        **_by_table(findings, audit),
        used=() if used is None else _tables_in_use(findings, used),
        forcing=() if isinstance(found, Missing) else forcing,
        worst=findings.places[0] if findings.places else None,
        has_contributions=has_contributions,
        words=words,
    )


def _by_table(findings: Findings, audit: AuditFindings | None) -> dict[str, list[str]]:
    """Name the tables with recovered counts, with undecided counts, and with neither."""
    named: dict[str, list[str]] = {"given": [], "open": [], "kept": []}
    if audit is None or not audit.recovered:
        return named
    sums = audit.by_table.group_by("table", maintain_order=True).agg(
        pl.col("recovered", "undecided").sum()
    )
    for name, recovered, undecided in sums.iter_rows():
        title = findings.release.table_by_name[name].title or name
        if recovered:
            named["given"].append(f"{title} ({recovered:,})")
        else:
            named["open" if undecided or findings.not_asked else "kept"].append(title)
    return named


def _knowers(findings: Findings, words: Words, *, has_counts: bool) -> str:
    """State what somebody has to know to learn more."""
    return _say(
        "knowers",
        has_counts=has_counts,
        by_knowledge=_by_knowledge(findings.claims),
        has_records=_has_records(findings),
        words=words,
    )


def _by_knowledge(claims: ClaimFindings | Missing) -> list[tuple[int, int]]:
    """List numbers of known columns that disclose more people than fewer do, and the people."""
    found: list[tuple[int, int]] = []
    most = 0
    if isinstance(claims, Missing):
        return found
    for known, attribute in claims.by_known.select("known", "attribute").iter_rows():
        if attribute > most:
            most = attribute
            found.append((known, attribute))
    return found


def _has_records(findings: Findings) -> bool:
    """Test whether anything is proven about anybody."""
    claims, certain = findings.claims, findings.certain
    is_disclosed = isinstance(claims, ClaimFindings) and claims.disclosed["attribute"] > 0
    return is_disclosed or (certain is not None and certain.records > 0)


def _tables_in_use(findings: Findings, manifest: Manifest) -> list[str]:
    of = findings.release.table_by_name
    return [of[name].called if name in of else name for name in manifest.notes["tables"]]


@dataclass(frozen=True)
class _SmallUnits:
    """Small units that have most certain records, and more than their share of people.

    Attributes:
        end: People of the largest of them.
        certain: Certain records there, out of ``all_certain``.
        people: People there, out of ``all_people``.
    """

    end: str
    certain: int
    all_certain: int
    people: int
    all_people: int


def _small_units(found: ReconstructionFindings) -> _SmallUnits | None:
    """Find the small units that have most certain records; None if the largest are among them."""
    sizes, total = found.by_size.slice(1), found.whole["certain"]
    if not total or sizes.is_empty():
        return None
    seen = people = 0
    for row in sizes.iter_rows(named=True):
        seen, people = seen + row["certain"], people + row["population"]
        if seen >= _MOST * total:
            break
    is_usual = seen * found.people <= _WORSE * people * total
    if row["size"] == sizes["size"][-1] or is_usual:
        return None
    return _SmallUnits(row["size"].split("-")[-1], seen, total, people, found.people)


def _readings(findings: Findings) -> tuple[Hyperlink, ...]:
    """Link to the page that shows the sheets as they were read, where there is one."""
    ingest = next((each for each in findings.manifests if each.stage == INGEST.name), None)
    if ingest is None or READING not in ingest.extras:
        return ()
    page = f"../{INGEST.folders[0]}/{READING}"
    return (Hyperlink("Each sheet as it was read", page, "every cell by what it is taken for"),)


def _origin(findings: Findings) -> str:
    """State when the tables were read, and from which files."""
    ingest = next((each for each in findings.manifests if each.stage == "ingest"), None)
    made = max(each.run.created for each in findings.manifests)
    when = made.replace("T", " ").replace("+00:00", " UTC")
    files = None if ingest is None else [f"`{file['name']}`" for file in ingest.inputs["files"]]
    return _say("origin", when=when, files=files)
