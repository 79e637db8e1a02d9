"""Summary of `recon solvar`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import known_columns
from recon_cli.capabilities.findings.result_tables import read_variability_by_size
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.console.output import Line, people_of, seconds, share, show_table
from recon_cli.pipeline.run import Run, StageOutcome

#: Description of each mode; 0 stands for the release's unit, 1 for its region.
_MODES = {
    "relaxed": "relaxed: each {0} alone, so it proves less",
    "exact": "exact: with every count of the {1}",
}


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest, words = outcome.manifest, words_of_run(run)
    totals, statuses, people = manifest.totals, manifest.statuses, words.people
    inhabited = totals.get("inhabited", totals["units"])
    reconstructed = WorkFolder(run.work).open(RECONSTRUCT)
    known = words.listed(known_columns(run.release, reconstructed))
    uncounted = bool(reconstructed.manifest.totals["uncounted"])
    counted = 0 if uncounted else totals["people"]
    places = run.release.geography.unit.name, run.release.region.name
    yield from [
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
    columns = ["size", "units", "zero_solvar_units_pct", "certain_pct"]
    by_size = read_variability_by_size(run.work).select(columns)
    yield partial(show_table, by_size, [people, words.units, f"{words.zero} %", "certain %"])
