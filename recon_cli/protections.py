"""The protections, an entry each: what it publishes, and in which folders.

A new one is an entry here, its section in `recon_cli.config.sections` and its stage in
`recon_cli.stages.protect`, each a module of its name. `recon protect NAME` and its key of `recon
compare` follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

#: What is published: ``records``, of which exact tables can be made; ``counts`` with their law;
#: noisy ``measurements``, maybe of other tables than the release's; or randomised ``answers``.
Publishes = Literal["records", "counts", "measurements", "answers"]

#: What is published → sections of the stages that can attack it in a comparison.
ATTACKS: Final[Mapping[Publishes, tuple[str, ...]]] = MappingProxyType(
    {
        "records": ("reconstruct", "solvar", "claims"),
        "counts": ("reconstruct", "claims"),
        "measurements": ("reconstruct",),
        "answers": (),
    }
)


@dataclass(frozen=True)
class ProtectionMethod:
    """A protection that `recon protect` knows.

    Attributes:
        name: Of its command, its section and its modules.
        publishes: What its readers get.
        folders: Those of the work folder that are made to be given away; counts, or records of
            persons, are in the first.
        purpose: What it does, in a sentence.
        kept: What it makes in its private folder; of counts there is their accuracy, too.
        options: Keys of its section that its command has an option for.
        reads: Folders of the work folder that it reads, where its section names no others.
    """

    name: str
    publishes: Publishes
    folders: tuple[str, ...]
    purpose: str
    kept: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reads: tuple[str, ...] = ("persons",)

    @property
    def private(self) -> tuple[str, ...]:
        """What it makes in its private folder, all of it."""
        has_accuracy = self.publishes in ("counts", "measurements")
        return (*(("accuracy",) if has_accuracy else ()), *self.kept)

    @property
    def stage(self) -> str:
        """``module:class`` of its stage, a `recon_cli.capabilities.protect.stage.ProtectionStage`."""
        return f"recon_cli.stages.protect.{self.name}:{self.name.capitalize()}Stage"


_METHODS: Final = (
    ProtectionMethod(
        "swap", "records", ("hdf", "hdf_households"), "Swap households: the CEF becomes an HDF.",
        kept=("swaps",), options=("setting",), reads=("persons", "households"),
    ),
    ProtectionMethod(
        "round", "counts", ("rounded",), "Round the counts of records to multiples of a base.",
        options=("to",),
    ),
    ProtectionMethod(
        "cellkey", "counts", ("perturbed",), "Perturb the counts of records by cell keys.",
        options=("to",),
    ),
    ProtectionMethod(
        "suppress", "counts", ("suppressed",),
        "Suppress small counts, and those that would give them away.",
        options=("to",),
    ),
    ProtectionMethod(
        "census1980", "counts", ("census1980",), "Suppress counts by the rules of the 1980 census.",
        kept=("rates",), options=("to",),
    ),
    ProtectionMethod(
        "noise", "measurements", ("noisy",), "Measure the counts of records with noise.",
        options=("strategy",),
    ),
    ProtectionMethod(
        "topdown", "records", ("mdf",), "Make records from noisy measurements, level by level."
    ),
    ProtectionMethod(
        "randomize", "answers", ("randomized", "randomized_counts"),
        "Replace answers of records by chance.",
    ),
)  # fmt: skip
#: Name → protection, in the order of a run.
PROTECTIONS: Final[Mapping[str, ProtectionMethod]] = MappingProxyType(
    {each.name: each for each in _METHODS}
)
