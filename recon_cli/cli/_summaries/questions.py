"""What the questions about all solutions print."""

from __future__ import annotations

from collections.abc import Mapping

import click
import polars as pl

from recon_cli.capabilities.audit.totals import read_audit
from recon_cli.capabilities.findings.checked import ALONE, checked_sentence, proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.joint_findings import are_all_open, shown_parts
from recon_cli.capabilities.findings.proven import proof_conditions
from recon_cli.capabilities.findings.result_tables import read_disclosures, read_table, read_tenths
from recon_cli.capabilities.slivers.slivers import SLIVERS as COLUMNS
from recon_cli.cli._output import Fact, people_of, seconds, share, show, show_table, title_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import CONTRIBUTIONS, RECONSTRUCT, SLIVERS
from recon_cli.plurals import counted, plural
from recon_cli.store import Manifest, open_folder


def audit(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    cells, statuses = manifest.totals["cells"], manifest.statuses
    left_out = manifest.totals.get("left_out", 0)
    found = read_audit(run.work, run.release)
    zeros = int(found.by_table["zeros"].sum())
    show(
        title_of(outcome),
        [
            ("counts not published exactly", f"{cells:,}"),
            *([("  left out of tables", share(left_out, cells))] if left_out else []),
            ("  recovered", share(statuses.get("recovered", 0), cells)),
            *([("    0: nobody is there", f"{zeros:,}")] if zeros else []),
            ("  narrowed", share(statuses.get("narrowed", 0), cells)),
            ("  safe", share(statuses.get("safe", 0), cells)),
            ("  undecided", share(statuses.get("undecided", 0), cells)),
            ("proven by", proven_by(WorkFolder(run.work))),
            ("interval known exactly", share(manifest.totals["exact"], cells)),
            ("seconds", seconds(manifest.run.wall_seconds)),
        ],
    )
    outcomes = ["counts", "recovered", "narrowed", "safe", "undecided", "smallest width"]
    show_table(found.by_table.drop("small", "zeros"), ["level", "table", *outcomes])
    if not found.by_suppression.is_empty():
        show_table(found.by_suppression, ["suppression", *outcomes])


#: Rows of the table.
_SLIVERS_SHOWN = 12


def slivers(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, people = outcome.manifest, plural(run.release.record)
    units = plural(run.release.geography.unit.name)
    totals, below = manifest.totals, manifest.notes["below"]
    facts: list[Fact] = [
        (units, f"{totals['units']:,}"),
        ("areas", f"{totals['areas']:,}, {totals['exact_areas']:,} with an exact total"),
        (f"slivers of 1 to {below - 1} {people}", f"{totals['slivers']:,}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["units"], units)),
    ]
    show(title_of(outcome), facts)
    folder = open_folder(run.work, SLIVERS, "slivers")
    rows = pl.concat([COLUMNS.to_frame(), *(folder.read(name) for name in folder.partitions)])
    first = rows.sort("people", "geoid").head(_SLIVERS_SHOWN)
    table = first.select("areas", pl.col("units").list.join(", "), "people")
    show_table(table, ["areas", "holds", people])


def claims(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    totals, statuses = manifest.totals, manifest.statuses
    people = plural(run.release.record)
    uncounted = WorkFolder(run.work).open(RECONSTRUCT).manifest.totals["uncounted"]
    facts: list[Fact] = [
        ("columns", ", ".join(manifest.notes["columns"]) or "none"),
        *_unasked(manifest),
        (people, people_of(totals, is_counted=not uncounted)),
        (plural(run.release.geography.unit.name).replace("_", " "), f"{totals['units']:,}"),
        ("claims", f"{totals['claims']:,}"),
        ("  exact", share(totals["exact_claims"], totals["claims"])),
        ("  maximal", share(totals["maximal"], totals["claims"])),
        (f"  of one {run.release.record}", share(totals["singletons"], totals["claims"])),
        *_on_tables_alone(run, totals),
        *_absent(run, totals),
        ("proven by", proven_by(WorkFolder(run.work))),
        *[("proven if", f"counts are {law}") for law in manifest.notes["laws"]],
        ("undecided", f"{totals['undecided']:,}"),
        ("complete", share(statuses.get("complete", 0), totals["units"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    show_table(
        read_disclosures(run.work), ["columns known", "identity", "attribute", "inferential"]
    )


def _unasked(manifest: Manifest) -> list[Fact]:
    """The columns that coarser tables tell apart further than the schema's ``histogram`` does."""
    named = ", ".join(manifest.notes["unasked"])
    return [("  not asked, though shown", named)] if named else []


def _absent(run: Run, totals: Mapping[str, int]) -> list[Fact]:
    """Where it was asked for."""
    if "absent" not in totals:
        return []
    return [(f"of no {run.release.record}", f"{totals['absent']:,}")]


def _on_tables_alone(run: Run, totals: Mapping[str, int]) -> list[Fact]:
    """Where the release assumes something."""
    if not run.release.has_assumptions:
        return []
    return [("  on tables alone", share(totals["on_tables_alone"], totals["claims"]))]


def joint(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, unit = outcome.manifest, plural(run.release.geography.unit.name)
    totals, statuses = manifest.totals, manifest.statuses
    facts: list[Fact] = [(unit, f"{totals['units']:,}")]
    is_open = statuses.get("open", 0)
    if is_open:
        records_of = " or ".join(plural(name) for name in shown_parts(manifest))
        facts.append(("  open", f"{share(is_open, totals['units'])}: no table bounds {records_of}"))
    for name in shown_parts(manifest):
        records = totals[f"{name}_records"]
        if are_all_open(manifest):
            facts.append((plural(name), "not known"))
            continue
        facts += [
            (plural(name), f"{records:,}"),
            ("  certain", share(totals[f"{name}_joint"], records)),
            ("  by their own tables", share(totals[f"{name}_alone"], records)),
        ]
    if are_all_open(manifest):
        facts.append(("proven", "open"))
    else:
        facts.append(("proven", share(statuses.get("proven", 0), totals["units"])))
        facts += _who_lives_with_whom(manifest, unit)
    facts.append(("proven by", ALONE))
    first = totals[f"{shown_parts(manifest)[0]}_records"]
    people = plural(run.release.record)
    facts.append(("seconds", seconds(manifest.run.wall_seconds, first, people)))
    show(title_of(outcome), facts)


def _who_lives_with_whom(manifest: Manifest, unit: str) -> list[Fact]:
    """Where it was asked for."""
    totals, partner = manifest.totals, shown_parts(manifest)[1]
    if not manifest.notes["compositions"]:
        return []
    return [
        (f"{plural(partner)} with every member", f"{totals['certain_with_members']:,}"),
        (f"{unit} with one division", f"{totals['is_division_unique']:,}"),
        ("who lives with whom proven", share(totals["divisions_proven"], totals["units"])),
    ]


def prove(run: Run, outcome: StageOutcome) -> None:  # noqa: ARG001
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    total = manifest.totals["statements"]
    facts: list[Fact] = [
        (status, share(manifest.statuses.get(status, 0), total))
        for status in ("certified", "shown", "confirmed", "open")
    ]
    facts += [
        ("texts", f"{manifest.notes['text_bytes'] / 1000:,.0f} KB"),
        ("seconds", seconds(manifest.run.wall_seconds, total, plural("statement"))),
    ]
    show(title_of(outcome), facts)
    click.echo(f"  {checked_sentence(manifest)}")


#: Rows of the list that are printed; all are in the folder.
_PARTS_SHOWN = 40


def contributions(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    notes = outcome.manifest.notes
    facts: list[Fact] = [
        ("left out", f"{notes['parts']}, one after the other"),
        ("attacks", f"{notes['attacks']:,}"),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    show(title_of(outcome), facts)
    columns = ["left_out", "certain_added", "disclosed_added", "claims_added"]
    if notes["orders"]:
        columns += ["certain_shapley", "disclosed_shapley", "claims_shapley"]
    table = read_table(run.work, CONTRIBUTIONS, "contributions").select(columns).head(_PARTS_SHOWN)
    show_table(table, [name.replace("_", " ") for name in columns])


def attribute(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    notes = outcome.manifest.notes
    whom = "whom" if run.release.record == "person" else "which"
    facts: list[Fact] = [
        ("columns", ", ".join(notes["columns"])),
        *_unasked(outcome.manifest),
        (f"known {plural(run.release.record)}", f"{notes['people']:,}"),
        (f"of {whom} something is proven", share(notes["settled_people"], notes["people"])),
        ("proven values", f"{notes['settled']:,}"),
        ("proven by", ALONE),
        ("written to", str(run.work / outcome.stage.folders[0])),
    ]
    show(title_of(outcome), facts)
    if notes["repeated"]:
        again = counted(notes["repeated"], "row")
        click.echo(f"  {again} of the lists repeat a name with its values: counted once")
    if notes["names_beyond"]:
        click.echo(
            f"  the lists have {notes['names_beyond']:,} more names than the tables have records "
            "with their values (names > most): not counted as proven"
        )
    for line in proof_conditions(notes["laws"], assumes_zeros=notes["assumes_zeros"]):
        click.echo(f"  {line}")


def confidence(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, people = outcome.manifest, plural(run.release.record)
    totals = manifest.totals
    facts: list[Fact] = [
        (people, f"{totals['people']:,}"),
        ("certain", share(totals["certain"], totals["people"])),
        ("not sampled", f"{totals['not_sampled']:,}"),
        ("solutions", f"{manifest.notes['solutions']}"),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    show_table(read_tenths(run.work), ["tenth of confidence", "records"])


def estimate(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    totals = outcome.manifest.totals
    show(
        title_of(outcome),
        [
            (f"{run.release.geography.unit.name}s", f"{totals['units']:,}"),
            ("counts", f"{totals['cells']:,}"),
            ("level of the intervals", f"{outcome.manifest.notes['level']:g}%"),
            ("seconds", seconds(outcome.manifest.run.wall_seconds, 0)),
        ],
    )
