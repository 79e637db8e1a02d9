"""Answers for decision makers: who, by which tables, what helps, how sure, from what."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from recon_cli.capabilities.contributions import CONTRIBUTIONS
from recon_cli.capabilities.findings.checked import proof_basis
from recon_cli.capabilities.findings.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    Place,
    ReconstructionFindings,
)
from recon_cli.capabilities.report.verdict import rule_in_words
from recon_cli.page.document import Hyperlink, KeyAnswer
from recon_cli.page.missing import Missing
from recon_cli.page.words import Words, enumerate_words, of_people, of_units, percentage
from recon_cli.plurals import counted
from recon_cli.schema.description import describe_cell
from recon_cli.stage import INGEST
from recon_cli.store import Manifest
from recon_cli.store.published import READING

#: Tables and files that are named one by one.
_NAMED = 8
#: Most places that are named for their recovered counts.
_WORST = 5
_AGAIN = "Run this again on what you would publish: only that shows what is left."
_CURE = (
    "`recon plan cure` estimates, from these tables alone, which further stars would leave none "
    "recovered, and what rounding to 3, 5 or 10 would leave."
)
#: Share of disclosed people from which a size class is worth a hint.
_MOST = 0.5
#: Factor by which that share must exceed the class's share of all people.
_WORSE = 1.1
_SUPPRESSED = "suppressed"
#: Name of a law → what protects more than it did.
_STRONGER = {
    _SUPPRESSED: "suppression of further counts (`recon protect suppress` finds which, from "
    "the true counts)",
    "zeroed": "a higher threshold below which counts are published as zero",
    "rounded": "rounding to a larger base (`recon protect round`)",
    "cellkey": "wider perturbation (`recon protect cellkey`)",
    "gaussian": "more noise from a smaller budget (`recon protect noise`)",
    "geometric": "more noise from a smaller budget (`recon protect noise`)",
    "randomized": "answers that are randomised more often (`recon protect randomize`)",
}


def make_answers(
    findings: Findings, words: Words, forcing: Sequence[str] = ()
) -> tuple[KeyAnswer, ...]:
    """Make the answers; none if neither records nor counts were examined.

    Args:
        forcing: Tables whose cells force certain records of the worst place.
    """
    found = findings.reconstruction
    audit = findings.audit if isinstance(findings.audit, AuditFindings) else None
    if audit is not None and not audit.manifest.totals["cells"]:
        audit = None
    rule = ""
    if isinstance(found, Missing):
        if audit is None:
            return ()
        advice = f"{_CURE} Try {_advice(findings)}. {_AGAIN}" if audit.recovered else _AGAIN
    else:
        examined = isinstance(findings.claims, ClaimFindings)
        rule = "" if found.is_fitted else rule_in_words(findings.rule, words, examined=examined)
        advice = _help(findings, found, words)
    answers = [
        _who(findings, words),
        KeyAnswer("For example", "" if audit is None else _example(findings, audit)),
        KeyAnswer("By which tables", _tables(findings, audit, words, forcing)),
        KeyAnswer("Who could know it", _knowers(findings, audit, words)),
        KeyAnswer("What now", advice),
        KeyAnswer("Rule", rule, is_aside=True),
        KeyAnswer("How sure", _sureness(findings, words), is_aside=True),
        KeyAnswer("Who may see this", _readers(findings), is_aside=True),
        KeyAnswer("When, from what", _origin(findings), _readings(findings), is_aside=True),
    ]
    return tuple(answer for answer in answers if answer.text)


def _who(findings: Findings, words: Words) -> KeyAnswer:
    """Name the worst places, each linked to its page."""
    if not findings.places:
        return KeyAnswer("Who", "")
    links = [
        Hyperlink(_place(place, words), place.page, _found_there(place, words))
        for place in findings.places[:_WORST]
    ]
    more = len(findings.places) - len(links)
    lead = "Most are in" if more or len(links) > 1 else "All are in"
    if isinstance(findings.reconstruction, Missing):
        lead = "Most of these counts are of" if more or len(links) > 1 else "All are of"
    return KeyAnswer("Who", lead, tuple(links))


def _found_there(place: Place, words: Words) -> str:
    if place.given and place.people is not None:
        return f"{place.given:,} of {of_people(place.people, words)}"
    return counted(place.recovered, "count")


def _place(place: Place, words: Words) -> str:
    known = f" ({place.name})" if place.name else ""
    return f"{place.geoid}{known}" if place.people is None else f"{words.unit} {place.geoid}{known}"


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
    found = findings.reconstruction
    told = [] if audit is None else [_by_table(findings, audit)]
    if not isinstance(found, Missing):
        told.append(f"{_tables_in_use(findings, found.manifest)}.")
        if forcing and findings.places:
            told.append(
                f"In {_place(findings.places[0], words)} cells of {enumerate_words(forcing)} "
                "suffice to force the records that are explained on its page."
            )
        names = found.manifest.notes["tables"]
        if len(names) > 1 and not findings.work.holds(CONTRIBUTIONS) and _is_damage(findings):
            told.append("`recon contributions` finds which of them do the damage.")
    elif audit is not None and not audit.recovered:
        told.append(f"{_tables_in_use(findings, audit.manifest)}.")
    return " ".join(filter(None, told))


def _by_table(findings: Findings, audit: AuditFindings) -> str:
    """State for each table whether a count is recovered, or may be."""
    if not audit.recovered:
        return ""
    of = findings.release.table_by_name
    sums = audit.by_table.group_by("table", maintain_order=True).agg(
        pl.col("recovered", "undecided").sum()
    )
    given: list[str] = []
    open_: list[str] = []
    kept: list[str] = []
    for name, recovered, undecided in sums.iter_rows():
        title = of[name].title or name
        if recovered:
            given.append(f"{title} ({recovered:,})")
        else:
            (open_ if undecided or findings.not_asked else kept).append(title)
    text = f"**No go:** {_several(given)}, by counts given away."
    text += f" **Undecided:** {_several(open_)}." if open_ else ""
    return text + (f" **No count given away:** {_several(kept)}." if kept else "")


def _several(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return f"{', '.join(names[:_NAMED])} and {more} more" if more > 0 else enumerate_words(names)


def _knowers(findings: Findings, audit: AuditFindings | None, words: Words) -> str:
    """State what somebody has to know to learn more."""
    told = []
    if audit is not None and audit.recovered:
        told.append("The counts: anybody who has these tables, and knows nothing else.")
    claims = findings.claims
    if isinstance(claims, ClaimFindings) and claims.disclosed["attribute"]:
        told.append(_by_knowledge(claims, words))
    elif _is_damage(findings):
        told.append(
            "That such records are there: anybody who has these tables. Whose they are: whoever "
            f"knows enough of a {words.person} to tell it from others."
        )
    return " ".join(told)


def _by_knowledge(claims: ClaimFindings, words: Words) -> str:
    """State how many people are disclosed to somebody who knows so many columns."""
    parts, most = [], 0
    for known, attribute in claims.by_known.select("known", "attribute").iter_rows():
        if attribute <= most:
            continue
        most = attribute
        what = "only where they are counted"
        if known:
            what = f"{known} {'column' if known == 1 else 'columns'} of theirs besides"
        parts.append(f"{attribute:,} for whoever knows {what}")
    return (
        f"Another column of at least so many {words.people} is settled: {enumerate_words(parts)}."
    )


def _readers(findings: Findings) -> str:
    """State who may see the page."""
    if findings.places:
        return (
            "As few as may see the data: it names places, and what nobody published of them. With "
            "`--set report.places=0` it has sums only."
        )
    return "" if findings.lists_places else "It has sums only, and names no place."


def _is_damage(findings: Findings) -> bool:
    """Test whether anything is proven about anybody."""
    claims, certain = findings.claims, findings.certain
    is_disclosed = isinstance(claims, ClaimFindings) and claims.disclosed["attribute"] > 0
    return is_disclosed or (certain is not None and certain.records > 0)


def _tables_in_use(findings: Findings, manifest: Manifest) -> str:
    of = findings.release.table_by_name
    names = [of[name].called if name in of else name for name in manifest.notes["tables"]]
    shown = [*names[: _NAMED - 1], "…", names[-1]] if len(names) > _NAMED else list(names)
    if len(names) == 1:
        return f"One table in use: {names[0]}"
    return f"{len(names)} tables in use, together: {', '.join(shown)}"


def _advice(findings: Findings) -> str:
    """Suggest how to strengthen the release's protection."""
    kinds = [kind for kind in findings.kinds_of_law if kind in _STRONGER] or [_SUPPRESSED]
    return ", or ".join(_STRONGER[kind] for kind in kinds)


def _help(findings: Findings, found: ReconstructionFindings, words: Words) -> str:
    """Name the places with most certain records, and options to try, without promises."""
    audit = findings.audit
    if isinstance(audit, AuditFindings) and audit.recovered:
        advice = f"Try {_advice(findings)}. {_AGAIN}"
        return f"Protected counts follow from the others. {_CURE} {advice}"
    protection = _advice(findings) if findings.laws else "suppressed or rounded counts"
    command = "" if findings.laws else " (`recon protect`)"
    tries = f"coarser columns, fewer tables, {protection}{command}. {_AGAIN}"
    sizes, total = found.by_size.slice(1), found.whole["certain"]
    if not total or sizes.is_empty():
        return f"Try {tries}"
    seen = people = 0
    for row in sizes.iter_rows(named=True):
        seen, people = seen + row["certain"], people + row["population"]
        if seen >= _MOST * total:
            break
    is_usual = seen * found.people <= _WORSE * people * total
    if row["size"] == sizes["size"][-1] or is_usual:
        return f"Try {tries}"
    end = row["size"].split("-")[-1]
    return (
        f"{percentage(seen, total)} of the certain records are in {words.units} of up to {end} "
        f"{words.people}, where {percentage(people, found.people)} of them are: publish these "
        f"{words.units} together. Or try {tries}"
    )


def _sureness(findings: Findings, words: Words) -> str:
    found = findings.reconstruction
    text = (
        "What is stated is proven: it is so in every set of records with the published counts. "
        f"{proof_basis(findings.work)}"
    )
    if isinstance(found, ReconstructionFindings) and found.is_fitted:
        text = f"Nothing is proven here of any {words.person}, in neither direction."
    elif isinstance(found, ReconstructionFindings) and found.uncounted:
        text += (
            f" The tables do not say how many {words.people} {words.live} in "
            f"{of_units(found.uncounted, words)}."
        )
    return (
        f"{text} What is not stated is unknown, not safe: one more column, table or place, or what "
        "an attacker knows besides, can give away more."
    )


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
    if ingest is None:
        return f"{when}."
    files = [f"`{file['name']}`" for file in ingest.inputs["files"]]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    digests = "its digest is" if len(files) == 1 else "their digests are"
    return f"{when}, from {', '.join(files[:_NAMED])}{more}; {digests} below."
