"""A made-up nation of any size, taken through every command: one step a command.

Each step is what a user types. Only picking the tracts of a sample is our own work, and is not
measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import Cost, module, recon

#: Tracts for exact solvar, in people.
SAMPLE_PEOPLE = 50_000
PROPAGATION = ("--set", "solvar.intervals=propagation")


@dataclass(frozen=True)
class Nation:
    """A nation in a folder of its own.

    Attributes:
        folder: Where everything is.
        people: How many.
        workers: Processes for the commands that take several.
        seed: Of everything.
    """

    folder: Path
    people: int
    workers: int
    seed: int = 1

    @property
    def work(self) -> Path:
        """The work folder of the whole nation."""
        return self.folder / "nation"

    @property
    def sample(self) -> Path:
        """The work folder of the sampled tracts."""
        return self.folder / "sample"

    def configure(self) -> None:
        """Write the two configs."""
        self.folder.mkdir(parents=True, exist_ok=True)
        for name in ("nation", "sample"):
            (self.folder / f"{name}.yaml").write_text(
                f"release: sf1_2010\nwork: {name}\nseed: {self.seed}\n"
                f"synth: {{people: {self.people}}}\n"
                "swap: {setting: targeted}\n"
                "ingest: {source: tidy, paths: [sample.parquet]}\n"
                "reconstruct: {tables: block+tract}\n"
            )

    def run(self, *command: object, config: str = "nation", workers: int | None = None) -> Cost:
        """One command on the nation, or on its sample."""
        options = ("-c", self.folder / f"{config}.yaml", "--workers", workers or self.workers)
        return recon(*command, *options)


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
    (nation.folder / "tables").mkdir(exist_ok=True)
    costs = []
    for part in sorted((nation.work / "hdf").glob("county=*/*.parquet")):
        name = f"{part.parent.name.partition('=')[2]}-{part.name}"
        target = nation.folder / "tables" / name
        costs.append(recon("tabulate", part, "--release", "sf1_2010", "--to", target))
    return Cost(
        sum(cost.wall_seconds for cost in costs),
        sum(cost.cpu_seconds for cost in costs),
        max(cost.peak_mb for cost in costs),
    )


def _ingest(nation: Nation) -> Cost:
    paths = ", ".join(map(str, sorted((nation.folder / "tables").glob("*.parquet"))))
    return nation.run("ingest", "--set", f"ingest.paths=[{paths}]")


def take_sample(nation: Nation, people: int = SAMPLE_PEOPLE) -> None:
    """Every n-th tract, ingested and reconstructed; not measured."""
    tables, sample = nation.folder / "tables", nation.folder / "sample.parquet"
    module("sample", tables, sample, "--people", people)
    nation.run("ingest", config="sample")
    nation.run("reconstruct", config="sample")


SYNTH = Step("synth", lambda nation: nation.run("synth"))
SWAP = Step("protect swap", lambda nation: nation.run("protect", "swap"))
ATTACKER = Step("synth attacker", lambda nation: nation.run("synth", "attacker"))
TABULATE = Step("tabulate", _tabulate, parallel=False)
INGEST = Step("ingest", _ingest, parallel=False)
RECONSTRUCT = Step("reconstruct", lambda nation: nation.run("reconstruct"))
RELAXED = Step("solvar relaxed", lambda nation: nation.run("solvar", *PROPAGATION))
LINK = Step("link", lambda nation: nation.run("link"))
SCORE = Step("score", lambda nation: nation.run("score"), parallel=False)
EXACT = Step(
    "solvar exact",
    lambda nation: nation.run("solvar", "--mode", "exact", *PROPAGATION, config="sample"),
    about="sample",
)

#: Up to the published tables: made once, so that there is something to audit.
MAKING = (SYNTH, SWAP, ATTACKER, TABULATE)
#: The audit.
AUDIT = (INGEST, RECONSTRUCT, RELAXED, LINK, SCORE)
