"""What `recon compare` shows: tables of errors, scores and summaries, and a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from recon_cli.config.sections.compare import Compare
from recon_cli.pipeline.run import Run
from recon_cli.report.comparison import compose_comparison
from recon_cli.report.document import NOT_FOR_PUBLICATION
from recon_cli.report.page import report_files
from recon_cli.report.sweep import SweptTables
from recon_cli.stages import compare_runs
from recon_cli.stages.compare import PAGE
from recon_cli.store import Manifest, Transaction


def write_comparison(
    run: Run,
    stage: Transaction,
    missing: Mapping[str, str],
    measured: dict[str, compare_runs.MeasuredErrors],
) -> Manifest:
    """Measure what came of the runs, and write tables and page.

    Args:
        stage: Where they are written.
        missing: Name → why it is not there, of protections that are left out; nobody is linked
            before all are there.
        measured: Name → errors, of protections that were measured before; others are added.

    Raises:
        StageError: A run's folder is damaged, or the disk refused.
    """
    config, runs = run.config.section(Compare), compare_runs.ComparedRuns.of(run).without(missing)
    measured |= compare_runs.measure_errors(run, runs, measured.keys())
    errors = {name: measured[name] for name in runs.protected}
    drawn = compare_runs.summarise_runs(run, runs, errors)
    found = compare_runs.means(run, runs, drawn, errors)
    scores = compare_runs.scores_of(run, runs)
    document = compose_comparison(
        run.release,
        found.summaries,
        found.errors,
        scores,
        people=compare_runs.people_of_truth(run),
        risk=config.risk,
        weights=config.weights,
        missing=missing,
        swept=None
        if found.swept is None or config.sweep is None
        else SweptTables(
            config.sweep.over,
            found.swept.means,
            found.distributions,
            found.swept.differences,
            found.swept.units,
        ),
    )
    document = replace(document, banner=NOT_FOR_PUBLICATION)
    tables = compare_runs.table_files(found, scores)
    for name, data in {**tables, **report_files(document, PAGE)}.items():
        stage.staging.write_extra("comparison", name, data)
    return stage.publish([], notes={"summary": list(document.headline.sentences)})
