"""Attacking what is left without some parts: what the workers of `recon contributions` do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from recon_cli.attack.claims.columns import claim_columns, require_columns
from recon_cli.attack.contributions.measures import Proven
from recon_cli.attack.contributions.parts import Part, parts_of, restrict, without
from recon_cli.attack.contributions.proven import Attack
from recon_cli.attack.contributions.ranking import LeftOut, attacks_needed, rank_contributions
from recon_cli.attack.contributions.shapley import draw_orders
from recon_cli.attack.options import ClaimOptions
from recon_cli.config.sections.contributions import Contributions
from recon_cli.execute import OnProgress, Results, WorkItem, run_items
from recon_cli.pipeline.run import Run
from recon_cli.progress import Task
from recon_cli.publication import Coverage
from recon_cli.schema import Release, Table
from recon_cli.seeding import generator
from recon_cli.spreadsheet import csv_bytes
from recon_cli.store import read_published
from recon_cli.store.files import parquet_bytes
from recon_cli.store.published import has_statements, open_published
from recon_cli.store.usage import Usage


@dataclass(frozen=True)
class FoundContributions:
    """The ranked list, and what it cost.

    Attributes:
        ranked: Columns of `recon_cli.attack.contributions.ranking.CONTRIBUTIONS`.
        attacks: How often the publication was attacked.
        usages: Of each attack.
        workers: Processes.
    """

    ranked: pl.DataFrame
    attacks: int
    usages: tuple[Usage, ...]
    workers: int

    def files(self, name: str) -> dict[str, bytes]:
        """The list as Parquet and CSV."""
        return {
            f"{name}.parquet": parquet_bytes(self.ranked),
            f"{name}.csv": csv_bytes(self.ranked, 2),
        }


@dataclass(frozen=True)
class AttackContext:
    """What all attacks share.

    Attributes:
        release: The schema.
        work: The work folder.
        tables: Those of the whole publication.
        coverage: What is published.
        columns: Of a whole record.
        options: How claims are verified.
        is_exact: Whether the counts are.
    """

    release: Release
    work: Path
    tables: tuple[Table, ...]
    coverage: Coverage
    columns: tuple[str, ...]
    options: ClaimOptions
    is_exact: bool


def attack_without(
    run: Run, config: Contributions, tables: tuple[Table, ...], coverage: Coverage, seed: int
) -> FoundContributions:
    """Attack the publication without each part, each named set, and each sampled coalition.

    Raises:
        ConfigError: The tables tell no column apart.
        ReconError: What an attack raised.
        WorkerError: A worker died.
    """
    release = run.release
    require_columns(release, tables, coverage)
    folder, _ = open_published(run.work, release)
    context = AttackContext(
        release,
        run.work,
        tables,
        coverage,
        claim_columns(release, tables, coverage),
        ClaimOptions(seed, config.unit_seconds),
        is_exact=not has_statements(folder),
    )
    parts = parts_of(release, tables, coverage, config.parts)
    sets = {
        name: frozenset(Part("tables", table) for table in named)
        for name, named in config.without.items()
    }
    orders = draw_orders(parts, config.orders, generator(seed, "contributions"))
    needed = attacks_needed(parts, sets, orders)
    items = [WorkItem(_name(left_out), left_out) for left_out in needed]
    with run.reporter.bar(Task("contributions", "attack", len(items))) as bar:
        done: Results[Proven] = run_items(
            attack_one,
            lambda: context,
            items,
            workers=run.config.top.workers,
            on_tick=bar.advance,
        )
    ranked = rank_contributions(parts, sets, orders, dict(zip(needed, done.values, strict=True)))
    return FoundContributions(ranked, len(needed), done.usages, done.workers)


def _name(left_out: LeftOut) -> str:
    names = sorted(part.name for part in left_out)
    return f"without {', '.join(names)}" if names else "of everything"


def attack_one(context: AttackContext, left_out: LeftOut, tick: OnProgress) -> Proven:
    """Attack what is left of all partitions; runs in a worker."""
    release = context.release
    rest = without(release, context.tables, context.coverage, left_out)
    attack = Attack.of(release, rest, context.columns, context.options, is_exact=context.is_exact)
    proven = Proven()
    if attack is not None:
        folder, _ = open_published(context.work, release)
        proven = attack.run(
            restrict(read_published(context.work, release, name), rest)
            for name in folder.partitions
        )
    tick(1, 0)
    return proven
