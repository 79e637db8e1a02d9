"""A synthetic population of any size, taken through every command: one step a command.

Each step is what a user types. Only picking the tracts of a sample is our own work, and is not
measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import Cost, module, recon

_PROPAGATION = ("--set", "solvar.intervals=propagation")


@dataclass(frozen=True)
class Nation:
    """A nation in a folder of its own.

    Attributes:
        folder: Where everything is.
        people: How many.
        workers: Processes for the commands that take several.
        seed: Of everything.
        people_per_tract: Mean, where not the usual one.
        force: Do again what is done already.
    """

    folder: Path
    people: int
    workers: int
    seed: int = 1
    people_per_tract: int | None = None
    force: bool = False

    @property
    def work(self) -> Path:
        """The work folder of the whole nation."""
        return self.folder / "nation"

    @property
    def sample(self) -> Path:
        """The work folder of the sampled tracts."""
        return self.folder / "sample"

    @property
    def tables(self) -> Path:
        """The published tables, a file for each county."""
        return self.folder / "tables"

    def configure(self) -> None:
        """Write the configs of the nation and of its sample."""
        self.folder.mkdir(parents=True, exist_ok=True)
        tracts = self.people_per_tract
        size = f"people: {self.people}" + (f", people_per_tract: {tracts}" if tracts else "")
        for name in ("nation", "sample"):
            (self.folder / f"{name}.yaml").write_text(
                f"release: sf1_2010\nwork: {name}\nseed: {self.seed}\n"
                f"synth: {{{size}}}\n"
                f"swap: {{setting: targeted, study_seed: {self.seed}}}\n"
                "ingest: {source: tidy, paths: [sample.parquet]}\n"
                "reconstruct: {tables: block+tract}\n"
            )

    def run(self, *command: object, config: str = "nation") -> Cost:
        """One command on the nation, or on its sample."""
        options = ("-c", self.folder / f"{config}.yaml", "--workers", self.workers)
        return recon(*command, *options, *(["--force"] if self.force else []))


@dataclass(frozen=True)
class Step:
    """One measured command.

    Attributes:
        name: Of the stage.
        run: Does it.
        parallel: Whether it takes ``--workers``.
        about: What it is a measure of: ``nation``, or ``sample`` (of its tracts).
    """

    name: str
    run: Callable[[Nation], Cost]
    parallel: bool = True
    about: str = "nation"


def _tabulate(nation: Nation) -> Cost:
    """Published tables, a command for each county."""
    nation.tables.mkdir(exist_ok=True)
    costs = []
    for part in sorted((nation.work / "hdf").glob("county=*/*.parquet")):
        name = f"{part.parent.name.partition('=')[2]}-{part.stem}.study.parquet"
        target = nation.tables / name
        costs.append(recon("data", "tabulate", part, "--release", "sf1_2010", "--to", target))
    return Cost(
        sum(cost.wall_seconds for cost in costs),
        sum(cost.cpu_seconds for cost in costs),
        max(cost.peak_mb for cost in costs),
    )


def _ingest(nation: Nation) -> Cost:
    paths = ", ".join(map(str, sorted(nation.tables.glob("*.parquet"))))
    return nation.run("ingest", "--set", f"ingest.paths=[{paths}]")


SYNTH = Step("synth", lambda nation: nation.run("data", "synth"))
SWAP = Step("protect swap", lambda nation: nation.run("protect", "swap"))
ATTACKER = Step("attacker", lambda nation: nation.run("data", "attacker"))
TABULATE = Step("tabulate", _tabulate, parallel=False)
INGEST = Step("ingest", _ingest, parallel=False)
RECONSTRUCT = Step("reconstruct", lambda nation: nation.run("reconstruct"))
RELAXED = Step("solvar relaxed", lambda nation: nation.run("solvar", *_PROPAGATION))
LINK = Step("link", lambda nation: nation.run("link"))
SCORE = Step("score", lambda nation: nation.run("score"), parallel=False)
EXACT = Step(
    "solvar exact",
    lambda nation: nation.run("solvar", "--mode", "exact", *_PROPAGATION, config="sample"),
    about="sample",
)

#: Up to the published tables: made once, so that there is something to audit.
MAKING = (SYNTH, SWAP, ATTACKER, TABULATE)
#: The audit.
AUDIT = (INGEST, RECONSTRUCT, RELAXED, LINK, SCORE)
#: What the stages with workers start from.
PREPARATION = (*MAKING, INGEST)


def prepare(nation: Nation, steps: Sequence[Step]) -> None:
    """Take the steps that are still to be taken, unmeasured."""
    nation.configure()
    for step in steps:
        if step is not TABULATE or not nation.tables.exists():
            step.run(nation)


def take_sample(nation: Nation, people: int) -> None:
    """Every n-th tract, ingested and reconstructed; not measured."""
    module("sample", nation.tables, nation.folder / "sample.parquet", "--people", people)
    nation.run("ingest", config="sample")
    nation.run("reconstruct", config="sample")
