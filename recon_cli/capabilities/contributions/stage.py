"""Run `recon contributions`: ``tables/`` and ``geounits/`` → ``contributions/``."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.contributions import CONTRIBUTIONS
from recon_cli.capabilities.contributions.leaving_out import LeavingOut
from recon_cli.capabilities.contributions.options import Contributions
from recon_cli.capabilities.contributions.parts import Part
from recon_cli.capabilities.contributions.ranking import Proven
from recon_cli.execute import OnProgress, Results, WorkItem, run_items
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.published_input import PublishedInput
from recon_cli.pipeline.run import Run
from recon_cli.progress import Task
from recon_cli.stage import undisturbed
from recon_cli.store import Manifest, Transaction
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published
from recon_cli.store.tables import table_files

RESULT = "contributions"


def open_stage(run: Run) -> MadeStage:
    """Open the stage that attacks the publication without each of its parts."""
    config = run.section(Contributions)
    seed = config.fixed_seed
    given = PublishedInput.of(run, config.tables)
    settings = config.model_dump(mode="json", exclude={"seed", "tables"})
    recipe = run.recipe(
        CONTRIBUTIONS,
        {**settings, "tables": given.table_names},
        seed=seed,
        shared={folder.path.name: folder.manifest.key for folder in given.folders},
    )

    def make(stage: Transaction) -> Manifest:
        with undisturbed():
            from recon_cli.capabilities.contributions.leaving_out import LeavingOut

        leaving_out = LeavingOut.of(
            run.release,
            given.used,
            given.coverage,
            Claims(seed=seed, unit_seconds=config.unit_seconds),
            is_exact=given.is_exact,
            kind=config.parts,
            sets=config.without,
            orders=config.orders,
        )
        items = [WorkItem(_name(left_out), left_out) for left_out in leaving_out.needed]
        with run.reporter.bar(Task("contributions", "attack", len(items))) as bar:
            done: Results[Any] = run_items(
                attack_one,
                lambda: _Attacked(leaving_out, run.work),
                items,
                workers=run.config.top.workers,
                on_tick=bar.advance,
            )
        ranked = leaving_out.ranked(done.values)
        stage.staging.write_extras("contributions", table_files({RESULT: ranked}, 2))
        return stage.publish(
            [],
            notes={
                "tables": given.table_names,
                "parts": config.parts,
                "orders": config.orders,
                "attacks": len(items),
            },
            usages=done.usages,
            workers=done.workers,
        )

    return MadeStage(recipe, make)


def _name(left_out: Collection[Part]) -> str:
    names = sorted(part.name for part in left_out)
    return f"without {', '.join(names)}" if names else "of everything"


@dataclass(frozen=True)
class _Attacked:
    """The inputs that all attacks share."""

    leaving_out: LeavingOut
    work: Path


def attack_one(attacked: _Attacked, left_out: frozenset[Part], tick: OnProgress) -> Proven:
    """Attack the rest of all partitions; runs in a worker."""
    release = attacked.leaving_out.release
    folder, _ = open_published(attacked.work, release)
    published = (
        read_published(attacked.work, release, name, with_statistics=True)
        for name in folder.partitions
    )
    proven = attacked.leaving_out.attack(left_out, published)
    tick(1, 0)
    return proven
