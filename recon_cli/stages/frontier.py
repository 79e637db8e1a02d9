"""`recon frontier`: a release schema and weights → ``frontier/``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from recon_cli.config.sections.frontier import Frontier
from recon_cli.pipeline.declaration import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import FRONTIER
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store import Manifest, Transaction, open_folder

if TYPE_CHECKING:
    import polars as pl

PAGE = "frontier.html"


def frontier(run: Run) -> MadeStage:
    """Measure what noise would cost the users of each table.

    Raises:
        ConfigError: A table is unknown, or no weight is above 0.
    """
    config = run.config.section(Frontier)
    config.check(run.release)
    recipe = run.recipe(FRONTIER, config.model_dump(mode="json"))

    def make(stage: Transaction) -> Manifest:
        return _write(run, config, stage)

    return MadeStage(recipe, make)


def _write(run: Run, config: Frontier, stage: Transaction) -> Manifest:
    from recon_cli.frontier import release as core  # noqa: PLC0415 - slow imports when needed
    from recon_cli.frontier.hierarchy import hierarchy_errors  # noqa: PLC0415
    from recon_cli.frontier.optimum import best_epsilon  # noqa: PLC0415
    from recon_cli.report.files import report_files  # noqa: PLC0415
    from recon_cli.report.frontier import Frontiers, compose_frontier  # noqa: PLC0415
    from recon_cli.store.files import parquet_bytes  # noqa: PLC0415

    law = core.NoiseLaw(config.noise, config.delta, is_replaced=config.neighbours == "replace")
    epsilons = sorted(config.epsilon)
    tables = run.release.select_tables(config.tables)
    errors = core.frontier(run.release, tables, config.weights, epsilons, law)
    one = core.one_count(epsilons, config.people, config.delta)
    levels = hierarchy_errors(config.branching, epsilons)
    budget = None
    if config.price is not None:
        error = core.weighted_error(errors, config.weights)[epsilons[0]] * epsilons[0] ** 2
        budget = best_epsilon(1.0, config.price, error)
    document = compose_frontier(
        run.release, config.weights, law, Frontiers(errors, one, levels, budget)
    )
    for name, table in (("errors", errors), ("one_count", one), ("hierarchy", levels)):
        stage.staging.write_extra("frontier", f"{name}.parquet", parquet_bytes(table))
        stage.staging.write_extra("frontier", f"{name}.csv", csv_bytes(table))
    for name, data in report_files(document, PAGE).items():
        stage.staging.write_extra("frontier", name, data)
    return stage.publish([], notes={"summary": list(document.headline.sentences)})


def read_errors(work: Path) -> pl.DataFrame:
    """Errors by table, level and strategy, see `recon_cli.frontier.release.frontier`."""
    import polars as pl  # noqa: PLC0415 - slow to load, and not needed to declare a stage

    return pl.read_parquet(open_folder(work, FRONTIER, "frontier").read_extra("errors.parquet"))
