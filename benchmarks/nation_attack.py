"""The attack on the synthetic population, from a seed to a page.

``python -m benchmarks.nation_attack``.

The commands that `configs/attack.yaml` names, in a folder of their own, each with what it cost;
last, the nonmodal uniques in zero-solvar blocks, found by the reconstruction and by guessing. With
``--page docs/scores.md`` that page is made again.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from rich.console import Console
from rich.table import Table

from benchmarks.machine import ROOT, Cost, recon
from benchmarks.topdown import optimised_groups

CONFIGS = ROOT / "configs"
NOTES = ROOT / "docs" / "scores.notes.md"
#: Seconds that link and score of a million people may take together, on two cores.
LIMIT = 90.0
TOPDOWN, GROUPS = "top-down", "groups.parquet"
_SOURCES = ("HDF", "rHDF_bt", "rHDF_b", "PRG", "PRG_loo")


@dataclass(frozen=True)
class Attack:
    """Where everything is made, and from what.

    Attributes:
        folder: Of the work folders and the tables.
        seed: Of the nation and of all that is done with it.
        people: In the nation.
        workers: Processes of the commands that take several.
        alternatives: Whether the study's experimental swaps and top-down are attacked, too.
        notes: What the page says between its summary and its tables.
    """

    folder: Path
    seed: int
    people: int
    workers: int
    alternatives: bool
    notes: Path | None

    @property
    def nation(self) -> Path:
        """The work folder of the nation."""
        return self.folder / "nation"

    @property
    def others(self) -> tuple[str, ...]:
        """Names of the other nations: the same people, swapped otherwise."""
        return ("lo", "hi") if self.alternatives else ()

    def release(self, name: str, config: str) -> list[object]:
        """Make a nation's tables, and reconstruct it from them."""
        work, tables = self.folder / name, self.folder / f"{name}.study.parquet"
        return [
            *self._shared("run", config, work),
            *("--set", f"synth.people={self.people}"),
            *("--set", f"tabulate.records={work / 'hdf'}", "--set", f"tabulate.to={tables}"),
            *("--set", f"ingest.paths=[{tables}]"),
        ]

    def steps(self, page: Path) -> Iterator[tuple[str, list[object]]]:
        """The commands, in order, and what they are called."""
        yield "nation, block+tract", self.release("nation", "nation")
        tables = ("--set", f"ingest.paths=[{self.nation}.study.parquet]")
        block = self._shared("run", "nation_block", self.folder / "nation_b")
        yield "nation, block", [*block, *tables]
        for name in self.others:
            yield f"swap {name}", self.release(f"nation_{name}", f"swap_{name}")
        if self.alternatives:
            yield TOPDOWN, self._topdown()
        yield "link", [*self._shared("link", "attack", self.nation), *self._sources(), "--force"]
        score = [*self._shared("score", "attack", self.nation), *self._sources(), "--force"]
        notes = () if self.notes is None else ("--notes", self.notes)
        yield "score", [*score, "--page", page, *notes]

    @property
    def microdata(self) -> Path:
        """The work folder of the records that are made of noisy measurements."""
        return self.folder / "nation_mdf"

    def write_groups(self) -> None:
        """The geography of top-down: all blocks with housing, in optimised block groups."""
        places = pl.read_parquet(self.nation / "places/**/*.parquet", hive_partitioning=False)
        lived_in = (pl.col("units") > 0) | (pl.col("population") > 0)
        groups = optimised_groups(places.filter(lived_in)["geoid_block"])
        groups.write_parquet(self.folder / GROUPS)

    def _topdown(self) -> list[object]:
        """Make records as the 2020 census did, and attack their tables."""
        groups, tables = self.folder / GROUPS, self.folder / "nation_mdf.study.parquet"
        return [
            *self._shared("run", "topdown", self.microdata),
            *("--set", f"topdown.records={self.nation / 'persons'}"),
            *("--set", f"topdown.geography={groups}", "--set", f"topdown.geounits={groups}"),
            *("--set", f"tabulate.records={self.microdata / 'mdf'}"),
            *("--set", f"tabulate.to={tables}", "--set", f"ingest.paths=[{tables}]"),
        ]

    def _sources(self) -> list[str]:
        others = {f"rSWAP{name.capitalize()}_bt": f"nation_{name}" for name in self.others}
        if self.alternatives:
            others = {"MDF": "nation_mdf/mdf", "rMDF_bt": "nation_mdf", **others}
        paths = [f"{title}: {self.folder / path}" for title, path in others.items()]
        named = ["rHDF_bt: microdata", f"rHDF_b: {self.folder / 'nation_b'}", *paths]
        alternatives = f"[{', '.join(others)}]" if others else "null"
        return [
            *("--set", f"link.sources={{{', '.join(named)}}}"),
            *("--set", f"score.alternatives={alternatives}"),
        ]

    def _shared(self, command: str, config: str, work: Path) -> list[object]:
        options = ("-c", CONFIGS / f"{config}.yaml", "--work", work, "--workers", self.workers)
        seeds = ["seed", *(f"{name}.study_seed" for name in self._protections(config))]
        return [command, *options, *(w for key in seeds for w in ("--set", f"{key}={self.seed}"))]

    @staticmethod
    def _protections(config: str) -> list[str]:
        """The protections of a config, which are for study here."""
        text = (CONFIGS / f"{config}.yaml").read_text()
        return [name for name in ("swap", "topdown") if f"\n{name}:" in text]


def costs(attack: Attack, page: Path, console: Console) -> dict[str, Cost]:
    """Run everything; what each command cost."""
    found: dict[str, Cost] = {}
    for name, command in attack.steps(page):
        if name == TOPDOWN:
            attack.write_groups()
        cost = recon(*command)
        found[name] = cost
        console.print(
            f"{name:20} {cost.wall_seconds:7.1f} s {cost.cpu_seconds:7.1f} core s "
            f"{cost.peak_mb:7,.0f} MB"
        )
    return found


def hardest(attack: Attack) -> Table:
    """Precision for nonmodal uniques in zero-solvar blocks, and how many times PRG's it is."""
    rates = pl.read_parquet(attack.nation / "score" / "rates.parquet").filter(
        table="table10_zero_solvar", panel="nonmodal_unique", rate="precision"
    )
    table = Table(box=None, title="Nonmodal uniques in zero-solvar blocks: precision %")
    for column in ("attacker", *_SOURCES, "rHDF_bt / PRG"):
        table.add_column(column, justify="right")
    for (attacker,), rows in rates.group_by("against", maintain_order=True):
        found = dict(rows.select("source", "pct").iter_rows())
        cells = [f"{found[name]:.1f}" for name in _SOURCES]
        table.add_row(str(attacker), *cells, f"{found['rHDF_bt'] / found['PRG']:.2f}")
    return table


def main() -> None:
    """Run, and say what it cost and what came of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=ROOT / "work" / "attack")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--people", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--no-alternatives", dest="alternatives", action="store_false")
    parser.add_argument("--page", type=Path, help="default: scores.md in the folder")
    parser.add_argument(
        "--notes", type=Path, default=NOTES, help="default: docs/scores.notes.md, if it is there"
    )
    options = parser.parse_args()
    folder: Path = options.folder.resolve()
    notes: Path | None = options.notes if options.notes.is_file() else None
    if notes is None and options.notes != NOTES:
        parser.error(f"--notes: no file {options.notes}")
    attack = Attack(
        folder, options.seed, options.people, options.workers, options.alternatives, notes
    )
    console = Console()
    found = costs(attack, options.page or folder / "scores.md", console)
    both = found["link"].wall_seconds + found["score"].wall_seconds
    console.print(f"link and score {both:.0f} s (limit {LIMIT:.0f} s on two idle cores)")
    console.print(hardest(attack))


if __name__ == "__main__":
    main()
