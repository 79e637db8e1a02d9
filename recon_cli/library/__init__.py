"""What the commands do, from Python: frames in, frames out; no files, no work folder.

Counts are tidy: ``geoid, table, cell, count``, a row a published cell. Records have a row a
person: the geoid column of the release's finest level, and a column for each feature.

A clinic publishes tables of its four patients; what do they give away?

>>> import polars as pl
>>> from recon_cli import library as recon
>>> release = recon.load_release("clinic_visits")
>>> patients = pl.DataFrame(
...     {
...         "geoid_clinic": ["D01001"] * 4,
...         "gender": ["woman", "woman", "man", "man"],
...         "age": [34, 71, 52, 55],
...         "insurance": ["public", "private", "public", "public"],
...         "smoker": [False, True, False, False],
...         "conditions": [1, 8, 8, 8],  # one has diabetes, three are healthy
...     }
... )
>>> counts = recon.tabulate(release, patients)
>>> published = recon.publish(release, counts)
>>> found = recon.reconstruct(release, published, seed=2)
>>> found.microdata.select("gender", "ageband", "conditions").rows()
[('woman', 30, 8), ('woman', 60, 8), ('man', 45, 1), ('man', 45, 8)]

These records reproduce every published cell, zeros included. Genders and age bands are as they
were; who has diabetes is not. Half of the records could be different, and one is the same in
every solution: both are proven.

>>> verdict = recon.verify(release, published, found.microdata)
>>> verdict.ok, verdict.cells_compared
(True, 194)
>>> measured = recon.measure_variability(release, published, found.microdata)
>>> measured.units.select("solvar_pct", "certain_records", "status").rows()
[(50.0, 1, 'proven')]
>>> recon.flag_certain(release, found.microdata, measured)["certain"].to_list()
[False, False, False, True]

An attacker who knows somebody's clinic, gender and age links them with the reconstruction and
reads off insurance and conditions. Is he right more often than if he had guessed?

>>> truth = patients.with_columns(pik=pl.Series(["a", "b", "c", "d"]))
>>> linked = recon.link(release, truth, {"rHDF": found.microdata}, seed=1)
>>> links = linked.links.filter(source="rHDF")
>>> links.select("pik", "conditions", "confirmed").rows()
[('a', 8, False), ('b', 8, True), ('c', 1, False), ('d', 8, True)]
>>> rates = recon.score(linked, bootstrap=0).filter(table="table09_overall", rate="precision")
>>> rates.select("source", "count", "of").rows()
[('CEF', 4.0, 4.0), ('rHDF', 2.0, 4.0), ('MDG', 2.0, 4.0), ('PRG', 1.0, 4.0)]

Two of four, as many as the modal guess (MDG) that needs no reconstruction.
"""

from recon_cli.attack.linkage.specification import Guesser
from recon_cli.attack.reconstruction.partition import Reconstruction
from recon_cli.attack.variability.partition import Measurement, flag_certain
from recon_cli.errors import ReconError
from recon_cli.library.links import Linked, agreement, baselines, link, score
from recon_cli.library.tables import (
    measure_variability,
    publish,
    read_published,
    reconstruct,
    verify,
)
from recon_cli.publication import Publication
from recon_cli.schema import AttackKeys, Release, load_release, packaged_releases, parse_release
from recon_cli.tabulation import tabulate
from recon_cli.verification import Verification

__all__ = [
    "AttackKeys",
    "Guesser",
    "Linked",
    "Measurement",
    "Publication",
    "ReconError",
    "Reconstruction",
    "Release",
    "Verification",
    "agreement",
    "baselines",
    "flag_certain",
    "link",
    "load_release",
    "measure_variability",
    "packaged_releases",
    "parse_release",
    "publish",
    "read_published",
    "reconstruct",
    "score",
    "tabulate",
    "verify",
]
