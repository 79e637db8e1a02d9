"""What somebody who has to decide asks: who, by which tables, what helps, how sure, from what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from recon_cli.evaluate.findings import (
    AuditFindings,
    ClaimFindings,
    Findings,
    Place,
    ReconstructionFindings,
)
from recon_cli.evaluate.fresh import Missing
from recon_cli.pipeline.stages import CONTRIBUTIONS
from recon_cli.report.document import Hyperlink, KeyAnswer
from recon_cli.report.verdict import rule_in_words
from recon_cli.report.words import Words, enumerate_words, of_people, of_units, percentage
from recon_cli.store import Manifest

#: Tables and files that are named one by one.
_NAMED = 8
#: Most places that are named for their recovered counts.
_WORST = 5
_AGAIN = "Run this again on what you would publish: only that shows what is left."
#: What a share of the people given away has to be before their size class is worth a hint.
_MOST = 0.5
#: How many times its share of all people that has to be.
_WORSE = 1.1
_SUPPRESSED = "suppressed"
#: Name of a law → what protects more than it did.
_STRONGER = {
    _SUPPRESSED: "suppression of further counts (`recon protect suppress` finds which)",
    "zeroed": "a higher threshold below which counts are published as zero",
    "rounded": "rounding to a larger base (`recon protect round`)",
    "cellkey": "wider perturbation (`recon protect cellkey`)",
    "gaussian": "more noise from a smaller budget (`recon protect noise`)",
    "geometric": "more noise from a smaller budget (`recon protect noise`)",
    "randomized": "answers that are randomised more often (`recon protect randomize`)",
}


@dataclass(frozen=True)
class PlacePage:
    """The page of one of the worst places.

    Attributes:
        page: Its file.
        tables: Published tables whose cells force certain records there; none if not looked for.
    """

    place: Place
    page: str
    tables: tuple[str, ...]


def make_answers(
    findings: Findings, words: Words, pages: Sequence[PlacePage] = ()
) -> tuple[KeyAnswer, ...]:
    """The answers; none where there are no records.

    Args:
        words: The release's words.
        pages: Of the worst places.
    """
    found = findings.reconstruction
    if isinstance(found, Missing):
        return _of_audit(findings, words)
    examined = isinstance(findings.claims, ClaimFindings)
    rule = "" if found.is_fitted else rule_in_words(findings.rule, words, examined=examined)
    answers = [
        KeyAnswer("Rule", rule),
        _who(findings, words, pages),
        _tables(findings, found, words, pages),
        KeyAnswer("What may help", _help(findings, found, words)),
        KeyAnswer("How sure", _sureness(findings, words)),
        KeyAnswer("When, from what", _origin(findings)),
    ]
    return tuple(answer for answer in answers if answer.text)


def _of_audit(findings: Findings, words: Words) -> tuple[KeyAnswer, ...]:
    """The answers where only protected counts were audited."""
    audit = findings.audit
    if not isinstance(audit, AuditFindings) or not audit.manifest.totals["cells"]:
        return ()
    return (
        KeyAnswer("Where", _where(audit)),
        KeyAnswer("By which tables", f"{_tables_in_use(findings, audit.manifest)}."),
        KeyAnswer(
            "What may help",
            f"Try {_advice(findings)}. {_AGAIN}" if audit.recovered else _AGAIN,
        ),
        KeyAnswer("How sure", _sureness(findings, words)),
        KeyAnswer("When, from what", _origin(findings)),
    )


def _where(audit: AuditFindings) -> str:
    """The places with most recovered counts."""
    most = audit.recovered_counts.group_by("geoid").len("counts")
    most = most.sort("counts", "geoid", descending=[True, False]).head(_WORST)
    named = [f"{audit.names.get(geoid) or geoid} ({counts:,})" for geoid, counts in most.rows()]
    return f"Most are of {enumerate_words(named)}; see the list below." if named else ""


def _who(findings: Findings, words: Words, pages: Sequence[PlacePage]) -> KeyAnswer:
    """The worst places by name, each linked to its page if there are pages."""
    if not findings.places:
        return KeyAnswer("Who", "")
    page = {each.place.geoid: each.page for each in pages}
    named = [
        (
            each.geoid,
            _place(each, words),
            f"{each.given:,} of {of_people(each.people, words)}",
        )
        for each in findings.places
    ]
    if not pages:
        text = "; ".join(f"{place}: {people}" for _, place, people in named)
        return KeyAnswer("Who", f"Most are in {text}. `recon show` followed by a geoid shows more.")
    links = (Hyperlink(place, page[geoid], people) for geoid, place, people in named)
    return KeyAnswer("Who", "Most are in", tuple(links))


def _place(place: Place, words: Words) -> str:
    known = f" ({place.name})" if place.name else ""
    return f"{words.unit} {place.geoid}{known}"


def _tables(
    findings: Findings, found: ReconstructionFindings, words: Words, pages: Sequence[PlacePage]
) -> KeyAnswer:
    names = found.manifest.notes["tables"]
    text = f"{_tables_in_use(findings, found.manifest)}."
    looked = next((page for page in pages if page.tables), None)
    if looked is not None:
        text += (
            f" In {_place(looked.place, words)} cells of {enumerate_words(looked.tables)} suffice "
            "to force the records that are explained on its page."
        )
    if len(names) > 1 and not findings.work.holds(CONTRIBUTIONS) and _is_damage(findings):
        text += " `recon contributions` finds which of them do the damage."
    return KeyAnswer("By which tables", text)


def _is_damage(findings: Findings) -> bool:
    """Whether anything is proven of anybody."""
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
    """What makes the protection stronger that the release has."""
    kinds = [kind for kind in findings.kinds_of_law if kind in _STRONGER] or [_SUPPRESSED]
    return ", or ".join(_STRONGER[kind] for kind in kinds)


def _help(findings: Findings, found: ReconstructionFindings, words: Words) -> str:
    """Where most certain records are, and what can be tried; nothing is promised."""
    audit = findings.audit
    if isinstance(audit, AuditFindings) and audit.recovered:
        return f"Protected counts follow from the others. Try {_advice(findings)}. {_AGAIN}"
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
    text = "What is stated is proven: it is so in every set of records with the published counts."
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


def _origin(findings: Findings) -> str:
    """When the tables were read, and from which files."""
    ingest = next((each for each in findings.manifests if each.stage == "ingest"), None)
    made = max(each.run.created for each in findings.manifests)
    when = made.replace("T", " ").replace("+00:00", " UTC")
    if ingest is None:
        return f"{when}."
    files = [f"`{file['name']}`" for file in ingest.inputs["files"]]
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    digests = "its digest is" if len(files) == 1 else "their digests are"
    return f"{when}, from {', '.join(files[:_NAMED])}{more}; {digests} below."
