"""Summary of `recon reconstruct`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.capabilities.findings.checked import proven_by
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.words import words_of_run
from recon_cli.capabilities.reconstruct.reconstructed import release_of_records
from recon_cli.console.output import Line, people_of, seconds, share, unlisted_facts
from recon_cli.page.words import agreement_of
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    manifest = outcome.manifest
    totals, statuses, people = manifest.totals, manifest.statuses, plural(run.release.record)
    units, inhabited = totals["units"], totals.get("inhabited", totals["units"])
    unique = totals.get("unique", statuses.get("unique", 0))
    columns = words_of_run(run).listed(manifest.notes["columns"])
    counted = 0 if totals["uncounted"] else totals["people"]
    certain = share(totals["certain"], counted)
    verified = f"{totals['cells_compared']:,} cells, {agreement_of(totals)}"
    engine = manifest.notes.get("engine", "auto")
    is_fitted = manifest.notes["is_fitted"]
    unverified = "nothing to verify: noise bounds no count" if is_fitted else "no"
    assumes_zeros = release_of_records(run.release, manifest).has_assumptions
    yield from [
        (people, people_of(totals, is_counted=not totals["uncounted"])),
        (
            plural(run.release.geography.unit.name).replace("_", " "),
            f"{units:,}, {inhabited:,} with {people}",
        ),
        *unlisted_facts(manifest, plural(run.release.geography.unit.name)),
        ("proven unique", share(unique, inhabited)),
        (f"  {people} in them", share(totals["people_in_unique"], counted)),
        ("not proven", share(inhabited - unique, inhabited)),
        *([] if engine == "auto" else [("solution by", f"{engine}, alone")]),
        ("certain, at least", f"{certain}, with {columns}"),
        ("proven by", proven_by(WorkFolder(run.work))),
        *(
            [("proven if", "the structural zeros that the schema assumes hold")]
            if assumes_zeros
            else []
        ),
        ("verified", verified if manifest.notes["verified"] else unverified),
        ("seconds", seconds(manifest.run.wall_seconds, totals["people"], people)),
    ]
