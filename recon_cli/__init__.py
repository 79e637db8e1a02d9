"""Audit published statistics: from published tables to the person records they imply.

`import recon_cli as recon` offers the commands as functions from frames to frames, without files or
a work folder. Counts are tidy: ``geoid, table, cell, count``, one row per published cell. Records
have one row per person: the geoid column of the release's finest level, and a column per feature.

A clinic publishes tables of its four patients; what do they reveal?

>>> import polars as pl
>>> import recon_cli as recon
>>> release = recon.load_release("clinic_visits")
>>> patients = recon.example_patients()
>>> counts = recon.tabulate(release, patients)
>>> published = recon.publish(release, counts)
>>> reconstruction = recon.reconstruct(release, published, seed=2)
>>> reconstruction.microdata.select("gender", "ageband", "conditions").rows()
[('woman', 30, 8), ('woman', 60, 8), ('man', 45, 1), ('man', 45, 8)]

These records reproduce every published cell, zeros included. Genders and age bands are as they
were; who has diabetes is not. Half of the records could be different, and one is the same in
every solution: both are proven.

>>> verification = recon.verify(release, published, reconstruction.microdata)
>>> verification.ok, verification.cells_compared
(True, 194)
>>> variability = recon.measure_variability(release, published, reconstruction.microdata)
>>> variability.units.select("solvar_pct", "certain_records", "status").rows()
[(50.0, 1, 'proven')]
>>> recon.flag_certain(release, reconstruction.microdata, variability)["certain"].to_list()
[False, False, False, True]

An attacker who knows somebody's clinic, gender and age links them with the reconstruction and
reads off insurance and conditions. Is he right more often than if he had guessed?

>>> truth = patients.with_columns(pik=pl.Series(["a", "b", "c", "d"]))
>>> linkage = recon.link(release, truth, {"rHDF": reconstruction.microdata}, seed=1)
>>> links = linkage.links.filter(source="rHDF")
>>> links.select("pik", "conditions", "confirmed").rows()
[('a', 8, False), ('b', 8, True), ('c', 1, False), ('d', 8, True)]
>>> rates = recon.score_links(linkage, bootstrap=0, threshold=0)
>>> precision = rates.filter(table="table09_overall", rate="precision")
>>> precision.select("source", "count", "of").rows()
[('CEF', 4.0, 4.0), ('rHDF', 2.0, 4.0), ('MDG', 2.0, 4.0), ('PRG', 1.0, 4.0)]

Two of four, as many as the modal guess (MDG) that needs no reconstruction.
"""

import importlib
from typing import TYPE_CHECKING

from recon_cli.version import __version__ as __version__

__all__ = [
    "AttackKeys",
    "Chart",
    "DimensionMapping",
    "Draft",
    "FileMapping",
    "Guesser",
    "KeyedChance",
    "Linkage",
    "Pass",
    "ProtectedData",
    "Protection",
    "Publication",
    "ReconError",
    "Reconstruction",
    "Release",
    "Statement",
    "Variability",
    "Verification",
    "VerifiedClaims",
    "WorkFolder",
    "agreement",
    "audit_counts",
    "baselines",
    "compare",
    "count_accuracy",
    "draft",
    "example_patients",
    "find_claims",
    "find_witnesses",
    "flag_certain",
    "leave_one_out",
    "leave_one_out_protected",
    "link",
    "load_protection",
    "load_release",
    "measure_confidence",
    "measure_variability",
    "packaged_releases",
    "parse_law",
    "parse_release",
    "protect",
    "protect_counts",
    "publish",
    "read_published",
    "reconstruct",
    "report",
    "run",
    "run_config",
    "score_links",
    "tabulate",
    "tag_records",
    "verify",
]

#: Modules of the API: the sections of a config as types, and risk without any reconstruction.
_MODULES = ("options", "risk")

if TYPE_CHECKING:
    from recon_cli.api import *
    from recon_cli.api import options as options
    from recon_cli.api import risk as risk
else:

    def __getattr__(name: str) -> object:
        """Import a name of the public API when it is first used (PEP 562)."""
        if name in _MODULES:
            return importlib.import_module(f"recon_cli.api.{name}")
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module("recon_cli.api"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
