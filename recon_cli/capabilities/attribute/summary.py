"""Summary of `recon attribute`."""

from __future__ import annotations

from collections.abc import Iterator

from recon_cli.capabilities.findings.checked import ALONE, proof_conditions
from recon_cli.console.output import Fact, Line, share, unasked_facts
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.plurals import counted, plural


def summary(run: Run, outcome: StageOutcome) -> Iterator[Line]:
    """Yield the summary lines of a finished stage."""
    notes = outcome.manifest.notes
    whom = "whom" if run.release.record == "person" else "which"
    facts: list[Fact] = [
        ("columns", ", ".join(notes["columns"])),
        *unasked_facts(outcome.manifest),
        (f"known {plural(run.release.record)}", f"{notes['people']:,}"),
        (f"of {whom} something is proven", share(notes["settled_people"], notes["people"])),
        ("proven values", f"{notes['settled']:,}"),
        ("proven by", ALONE),
        ("written to", str(run.work / outcome.stage.folders[0])),
    ]
    yield from facts
    if notes["repeated"]:
        again = counted(notes["repeated"], "row")
        yield f"{again} of the lists repeat a name with its values: counted once"
    if notes["names_beyond"]:
        yield (
            f"the lists have {notes['names_beyond']:,} more names than the tables have records "
            "with their values (names > most): not counted as proven"
        )
    yield from proof_conditions(notes["laws"], assumes_zeros=notes["assumes_zeros"])
