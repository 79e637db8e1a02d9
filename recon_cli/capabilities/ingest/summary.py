"""Summary of `recon ingest`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.ingest.options import Ingest
from recon_cli.console.output import Fact, Line, seconds, unlisted_facts
from recon_cli.coverage import count_left_out
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import counted, plural
from recon_cli.schema import AreaGeography, Release
from recon_cli.stage import undisturbed
from recon_cli.store import INGEST
from recon_cli.store.published import read_left_out, read_percentages

#: Tables that a warning names.
_NAMED = 4


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest, noun = outcome.manifest, plural(run.release.record)
    people, cells = manifest.totals["people"], manifest.totals["cells"]
    partly = "at least " if manifest.totals.get("partly_counted") else ""
    levels = [level.name for level in run.release.geography.levels]
    yield from [
        ("release", run.release.name),
        (
            noun,
            f"{partly}{people:,}" if people or not (cells or partly) else "not published exactly",
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
        *_percentage_facts(run),
        ("non-zero cells", f"{cells:,}"),
        ("seconds", seconds(manifest.run.wall_seconds, people, noun)),
    ]


def _left_out_facts(run: Run) -> list[Fact]:
    left_out = read_left_out(WorkFolder(run.work).open(INGEST))
    if not left_out:
        return []
    return [("not used", count_left_out(left_out))]


def _percentage_facts(run: Run) -> list[Fact]:
    told = read_percentages(WorkFolder(run.work).open(INGEST))
    if not told:
        return []
    counts = len({each[:3] for each in told})
    headers = list(dict.fromkeys(each[3] for each in told))
    shown = ", ".join(map(repr, headers[:_NAMED])) + ", …" * (len(headers) > _NAMED)
    return [("percentages", f"narrow {counted(counts, 'withheld count')}: {shown}")]


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
    """List the tables that a legacy layout says nothing of, unless some were chosen."""
    config = run.config.section(Ingest)
    if not config.is_legacy or config.tables is not None:
        return []
    with undisturbed():
        from recon_cli.sources.legacy import legacy_layout

    unplaced = legacy_layout(run.release, config.source).unplaced
    if not unplaced:
        return []
    named = ", ".join(unplaced[:_NAMED]) + (", …" if len(unplaced) > _NAMED else "")
    said = f"the layout does not say where files keep {counted(len(unplaced), 'table')}: not read"
    return [("warning", f"{said} ({named})")]
