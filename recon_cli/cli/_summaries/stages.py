"""What the stages from tables to report print."""

from __future__ import annotations

import os

from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import known_columns
from recon_cli.capabilities.findings.result_tables import read_variability_by_size
from recon_cli.capabilities.reconstruct.reconstructed import release_of_records
from recon_cli.capabilities.report.stage import page_of
from recon_cli.capabilities.score.words import with_labels, words_of_run
from recon_cli.cli._output import (
    Fact,
    people_of,
    seconds,
    share,
    show,
    show_table,
    title_of,
    unlisted_facts,
)
from recon_cli.config import Ingest
from recon_cli.coverage import enumerate_left_out
from recon_cli.page.words import agreement_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import RECONSTRUCT
from recon_cli.plurals import counted, plural
from recon_cli.schema import AreaGeography, Release
from recon_cli.stage import load
from recon_cli.store import INGEST
from recon_cli.store.published import read_left_out

#: Tables that a warning names.
_NAMED = 4


def ingest(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, noun = outcome.manifest, plural(run.release.record)
    people, cells = manifest.totals["people"], manifest.totals["cells"]
    partly = "at least " if manifest.totals.get("partly_counted") else ""
    levels = [level.name for level in run.release.geography.levels]
    show(
        title_of(outcome),
        [
            ("release", run.release.name),
            (
                noun,
                f"{partly}{people:,}"
                if people or not (cells or partly)
                else "not published exactly",
            ),
            *(
                (plural(name).replace("_", " "), f"{manifest.statuses[name]:,}")
                for name in levels
                if name in manifest.statuses
            ),
            *unlisted_facts(manifest, plural(run.release.geography.unit.name)),
            *_outside_facts(run.release),
            *_unplaced_facts(run),
            *_left_out_facts(run),
            ("non-zero cells", f"{cells:,}"),
            ("seconds", seconds(manifest.run.wall_seconds, people, noun)),
        ],
    )


def _left_out_facts(run: Run) -> list[Fact]:
    left_out = read_left_out(WorkFolder(run.work).open(INGEST))
    if not left_out:
        return []
    cells = sum(each.cells for each in left_out)
    return [("not used", f"{counted(cells, 'number')}: {enumerate_left_out(left_out)}")]


def _outside_facts(release: Release) -> list[Fact]:
    geography = release.geography
    if not isinstance(geography, AreaGeography) or not geography.outside:
        return []
    unit, number = geography.unit.name, len(geography.outside)
    which = f"1 {unit} is" if number == 1 else f"{number:,} {plural(unit)} are"
    more = ", …" if number > 1 else ""
    said = f"{which} in no area with tables, so nobody there is counted"
    return [("warning", f"{said} ({geography.outside[0]}{more})")]


def _unplaced_facts(run: Run) -> list[Fact]:
    """Which tables a legacy layout says nothing of, unless some were chosen."""
    config = run.config.section(Ingest)
    if not config.is_legacy or config.tables is not None:
        return []
    unplaced = load("recon_cli.sources.legacy:legacy_layout")(run.release, config.source).unplaced
    if not unplaced:
        return []
    named = ", ".join(unplaced[:_NAMED]) + (", …" if len(unplaced) > _NAMED else "")
    said = f"the layout does not say where files keep {counted(len(unplaced), 'table')}: not read"
    return [("warning", f"{said} ({named})")]


def reconstruct(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    totals, statuses, people = manifest.totals, manifest.statuses, plural(run.release.record)
    units, inhabited = totals["units"], totals.get("inhabited", totals["units"])
    unique = totals.get("unique", statuses.get("unique", 0))
    columns = words_of_run(run).listed(manifest.notes["columns"])
    counted = 0 if totals["uncounted"] else totals["people"]
    certain = share(totals["certain"], counted)
    verified = f"{totals['cells_compared']:,} cells, {agreement_of(totals)}"
    is_fitted = manifest.notes["is_fitted"]
    unverified = "nothing to verify: noise bounds no count" if is_fitted else "no"
    assumes_zeros = release_of_records(run.release, manifest).has_assumptions
    show(
        title_of(outcome),
        [
            (people, people_of(totals, is_counted=not totals["uncounted"])),
            (
                plural(run.release.geography.unit.name).replace("_", " "),
                f"{units:,}, {inhabited:,} with {people}",
            ),
            *unlisted_facts(manifest, plural(run.release.geography.unit.name)),
            ("proven unique", share(unique, inhabited)),
            (f"  {people} in them", share(totals["people_in_unique"], counted)),
            ("not proven", share(inhabited - unique, inhabited)),
            ("certain, at least", f"{certain}, with {columns}"),
            ("proven by", proven_by(WorkFolder(run.work))),
            *(
                [("proven if", "the structural zeros that the schema assumes hold")]
                if assumes_zeros
                else []
            ),
            ("verified", verified if manifest.notes["verified"] else unverified),
            ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
        ],
    )


#: What each mode looks at; 0 is the release's unit, 1 its region.
_MODES = {
    "relaxed": "relaxed: each {0} alone, so it proves less",
    "exact": "exact: with every count of the {1}",
}


def solvar(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest, words = outcome.manifest, words_of_run(run)
    totals, statuses, people = manifest.totals, manifest.statuses, words.people
    inhabited = totals.get("inhabited", totals["units"])
    reconstructed = WorkFolder(run.work).open(RECONSTRUCT)
    known = words.listed(known_columns(run.release, reconstructed))
    uncounted = bool(reconstructed.manifest.totals["uncounted"])
    counted = 0 if uncounted else totals["people"]
    places = run.release.geography.unit.name, run.release.region.name
    facts: list[Fact] = [
        ("mode", _MODES[manifest.notes["mode"]].format(*places).replace("_", " ")),
        (people, people_of(totals, is_counted=not uncounted)),
        (words.units, f"{totals['units']:,}, {inhabited:,} with {people}"),
        (words.zero, share(totals["zero"], inhabited)),
        (f"  {people} in them", share(totals["people_in_zero"], counted)),
        ("certain", f"at least {share(totals['certain'], counted)}, with {known}"),
        ("proven by", proven_by(WorkFolder(run.work))),
        ("proven", share(statuses.get("proven", 0), totals["units"])),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
    show(title_of(outcome), facts)
    columns = ["size", "units", "zero_solvar_units_pct", "certain_pct"]
    by_size = read_variability_by_size(run.work).select(columns)
    show_table(by_size, [people, words.units, f"{words.zero} %", "certain %"])


def link(run: Run, outcome: StageOutcome) -> None:
    """Print the summary of a finished stage."""
    manifest = outcome.manifest
    totals, notes, words = manifest.totals, manifest.notes, words_of_run(run)
    people = words.people
    left_out = [(f"  left out, {why}", f"{n:,}") for why, n in sorted(manifest.statuses.items())]
    beyond = [
        (f"  left out, {name}: elsewhere", f"{n:,}")
        for name, n in notes["outside_partitions"].items()
        if n
    ]
    show(
        title_of(outcome),
        [
            ("sources", with_labels(run, manifest, notes["sources"])),
            ("attackers", with_labels(run, manifest, notes["attackers"]) or "none: agreement only"),
            (people, f"{totals['people']:,}"),
            ("  with an id", share(totals["linkable"], totals["people"])),
            (words.units, f"{totals['units']:,}"),
            ("putative links", f"{totals['putative']:,}"),
            ("confirmed", share(totals["confirmed"], totals["putative"])),
            *left_out,
            *beyond,
            ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
        ],
    )


def report(run: Run, outcome: StageOutcome) -> None:
    """Print the headline and where the page is."""
    notes = outcome.manifest.notes
    facts: list[Fact] = [("headline", sentence) for sentence in notes["headline"]]
    facts += [("left out", gap) for gap in notes["missing"]]
    facts += [
        ("page", os.path.normpath(page_of(run))),
        ("seconds", seconds(outcome.manifest.run.wall_seconds)),
    ]
    show(title_of(outcome), facts)
