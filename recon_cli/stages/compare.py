"""`recon compare`: one truth, several protections → ``compare/NAME/`` and ``comparison/``.

Each protection is a run of its own, with the stages and folders of any other run: it is resumed,
and looked at with `recon status` or `recon report`, like any other.
"""

from __future__ import annotations

from dataclasses import replace

from recon_cli.config.sections.compare import Compare
from recon_cli.errors import ConfigError
from recon_cli.pipeline.run import Run, StageOutcome
from recon_cli.pipeline.stages import COMPARE
from recon_cli.stages.compare_protections import truth_of
from recon_cli.store import transaction

PAGE = "comparison.html"


def compare(run: Run) -> StageOutcome:
    """Protect the truth in every way that the config names, attack each, and compare.

    Raises:
        ConfigError: There is no truth, or a protection does not suit it.
        StageError: A protection could not be made or attacked, or a work folder is in use.
        WorkerError: A worker died.
    """
    from recon_cli.stages import compare_runs as work  # noqa: PLC0415 - loads polars

    config = run.config.section(Compare)
    if not truth_of(run, config).exists():
        raise ConfigError(
            f"compare.truth: missing: no records at {truth_of(run, config)}; name a file of "
            "records, or make a population with `recon synth`"
        )
    runs = work.ComparedRuns.of(run)
    if run.opener is transaction:  # a preview runs nothing
        work.run_compared(run, runs)
    recipe = run.recipe(
        COMPARE,
        {
            "protections": {
                name: each.model_dump(mode="json", exclude_unset=True)
                for name, each in config.every.items()
            },
            "weights": dict(config.weights),
            "risk": config.risk,
        },
        shared=work.digests(run, runs),
        is_study=True,
    )
    with run.transaction(recipe) as stage:
        if stage.current is not None:
            return StageOutcome(COMPARE, stage.current, skipped=True)
        from recon_cli.report.comparison import compose_comparison  # noqa: PLC0415 - when needed
        from recon_cli.report.document import NOT_FOR_PUBLICATION  # noqa: PLC0415
        from recon_cli.report.files import report_files  # noqa: PLC0415

        errors = work.measure_errors(run, runs)
        summaries = work.summarise_runs(run, runs, errors)
        scores = work.scores_of(run, runs)
        document = compose_comparison(
            run.release,
            summaries,
            errors,
            scores,
            people=work.people_of_truth(run),
            risk=config.risk,
            weights=config.weights,
        )
        document = replace(document, banner=NOT_FOR_PUBLICATION)
        files = {**work.table_files(summaries, errors, scores), **report_files(document, PAGE)}
        for name, data in files.items():
            stage.staging.write_extra("comparison", name, data)
        notes = {"summary": list(document.headline.sentences)}
        return StageOutcome(COMPARE, stage.publish([], notes=notes))
