"""Proven findings about published counts and places, one a row, from all stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any, Final

import polars as pl

from recon_cli.capabilities.audit import AUDIT
from recon_cli.capabilities.audit.statuses import RECOVERED, SAFE
from recon_cli.capabilities.claims import CLAIMS
from recon_cli.capabilities.findings.checked import proof_basis, proof_conditions
from recon_cli.capabilities.findings.fresh import WorkFolder
from recon_cli.capabilities.findings.proven import Proofs
from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.show.geounit_page import claim_sentence
from recon_cli.page.missing import Missing
from recon_cli.page.words import Words, of_people, words_of
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release
from recon_cli.store.protection import laws_of
from recon_cli.store.published import open_published

#: Kinds of findings besides the statuses of an audit; `NOBODY` is a recovered zero, `ABSENCE` is of
#: values that nobody has.
NOBODY = "recovered, nobody"
ABSENCE = "claim, nobody"
CLAIM, CERTAIN, DISCLOSURE = "claim", "certain records", "disclosure"
#: Columns of findings: ``table`` and ``cell`` are null for a finding about a place; ``short`` is
#: the text beside the count, or null; ``why`` has the conditions of the proof.
FINDINGS: Final = {
    "geoid": pl.String,
    "table": pl.String,
    "cell": pl.Int16,
    "kind": pl.String,
    "short": pl.String,
    "said": pl.String,
    "why": pl.String,
}
#: Text where no law was declared.
_EXACT: Final = "What is proven here is proven if every count is published exactly."


def proven_findings(run: Run, counts: pl.DataFrame) -> pl.DataFrame:
    """Collect the findings of audit, claims and reconstruction that fit the present tables.

    Args:
        counts: ``geoid, table, cell`` of the counts in the files: a claim is attached to the
            narrowest one that holds its people.

    Returns:
        Columns of `FINDINGS`; counts that are proven safe have neither ``short`` nor ``said``.
    """
    work, release = WorkFolder(run.work), run.release
    laws = laws_of(open_published(run.work, release)[0], release)
    found = [pl.DataFrame(schema=FINDINGS)]
    audit = work.fresh(AUDIT)
    if not isinstance(audit, Missing):
        why = f"{_why(laws, assumes_zeros=release.has_assumptions)} {proof_basis(work)}"
        found += [_audited(part, why) for part in audit.parts()]
    microdata = work.fresh(RECONSTRUCT)
    if not isinstance(microdata, Missing) and not microdata.manifest.notes["is_fitted"]:
        found += _of_records(work, release, laws, counts)
    return pl.concat(found)


def _why(laws: Sequence[str], *, assumes_zeros: bool) -> str:
    conditions = proof_conditions(laws, assumes_zeros=assumes_zeros)
    return " ".join(conditions if laws else (_EXACT, *conditions))


def _audited(audit: pl.DataFrame, why: str) -> pl.DataFrame:
    least, most = pl.col("least").cast(pl.String), pl.col("greatest").cast(pl.String)
    short = (
        pl.when(pl.col("status") == RECOVERED)
        .then(least)
        .when(pl.col("greatest").is_null())
        .then(least + " or more")
        .otherwise(least + " to " + most)
    )
    is_told = pl.col("status") != SAFE
    is_nobody = (pl.col("status") == RECOVERED) & (pl.col("greatest") == 0)
    kind = pl.when(is_nobody).then(pl.lit(NOBODY)).otherwise("status")
    return audit.select(
        "geoid",
        "table",
        pl.col("cell").cast(pl.Int16),
        kind=kind,
        short=pl.when(is_told).then(short),
        said=pl.when(is_told).then(kind + ": the published counts leave " + short),
        why=pl.lit(why),
    )


def _of_records(
    work: WorkFolder, release: Release, laws: Sequence[str], counts: pl.DataFrame
) -> Iterator[pl.DataFrame]:
    proofs, words = Proofs.of(work, release), words_of(release)
    assumes = bool(proofs.microdata.manifest.notes["assumptions"]) and release.has_assumptions
    basis = proof_basis(work)
    whys = {each: f"{_why(laws, assumes_zeros=each)} {basis}" for each in (False, True)}
    place = release.geoid_column
    for name in proofs.microdata.partitions:
        units = proofs.units(name, proofs.microdata.read(name, columns=(place, "certain")))
        certain = units.filter(pl.col("certain") > 0).select(place, "certain", "placed")
        said = [
            f"at least {count:,} of {of_people(placed, words)} are in every solution, on "
            f"{words.listed(proofs.columns)}"
            for _, count, placed in certain.iter_rows()
        ]
        yield _about_places(certain[place], CERTAIN, said, whys[assumes])
        if proofs.claims is not None:
            told = proofs.claims.read(name).filter("maximal", ~pl.col("trivial"))
            yield _claimed(release, proofs.claims.manifest.notes["columns"], told, counts, whys)
            yield _disclosed(
                words, work.open(CLAIMS, "disclosures").read(name), place, whys[assumes]
            )


def _about_places(geoids: pl.Series, kind: str, said: Sequence[str], why: str) -> pl.DataFrame:
    about = pl.DataFrame({"geoid": geoids, "said": pl.Series(said, dtype=pl.String)})
    told = about.with_columns(kind=pl.lit(kind), why=pl.lit(why))
    return pl.concat([pl.DataFrame(schema=FINDINGS), told], how="diagonal")


def _disclosed(words: Words, rows: pl.DataFrame, place: str, why: str) -> pl.DataFrame:
    """Find for each place the fewest columns that determine another column of somebody."""
    some = (
        rows.filter(pl.col("attribute") > 0)
        .sort(place, "known")
        .unique(place, keep="first", maintain_order=True)
    )
    said = [
        f"at least {of_people(people, words)} with a further column that is settled for whoever "
        f"knows at most {known} of theirs"
        for known, people in some.select("known", "attribute").iter_rows()
    ]
    return _about_places(some[place], DISCLOSURE, said, why)


def _claimed(
    release: Release,
    columns: Sequence[str],
    told: pl.DataFrame,
    counts: pl.DataFrame,
    whys: Mapping[bool, str],
) -> pl.DataFrame:
    """Select claims that no other claim contains and no published count states."""
    place, words = release.geoid_column, words_of(release)
    places = counts.filter(pl.col("geoid").is_in(told[place].unique().implode()))
    cells = _Cells(release, places.select("table", "cell").unique())
    published = set(places.select("geoid", "table", "cell").iter_rows())
    rows = []
    for claim in told.iter_rows(named=True):
        around = cells.around(tuple(claim[name] for name in columns), columns)
        table, cell = next(
            (each for each in around if (claim[place], *each) in published), (None, None)
        )
        rows.append(
            {
                "geoid": claim[place],
                "table": table,
                "cell": cell,
                "kind": CLAIM if claim["count"] else ABSENCE,
                "short": None,
                "said": claim_sentence(release, words, columns, claim),
                "why": whys[claim["rests_on"] != "tables"],
            }
        )
    return pl.DataFrame(rows, schema=FINDINGS)


class _Cells:
    """Published cells, the narrowest first."""

    def __init__(self, release: Release, cells: pl.DataFrame) -> None:
        self._release = release
        named = [
            (table, number, release.table_by_name[table].cells[number - 1])
            for table, number in cells.sort("table", "cell").iter_rows()
        ]
        plain = [each for each in named if each[2].tally is None]
        self._cells = sorted(plain, key=lambda each: prod(m.bit_count() for m in each[2].masks))
        self._known: dict[tuple[Any, ...], list[tuple[str, int]]] = {}

    def around(self, values: tuple[Any, ...], columns: Sequence[str]) -> list[tuple[str, int]]:
        """Find cells that contain all people with some values; None is any value."""
        if values not in self._known:
            masks = list(self._release.full)
            for name, value in zip(columns, values, strict=True):
                if value is not None:
                    groups = self._release.column_groups(name)
                    at = self._release.feature_index[groups.feature]
                    masks[at] &= groups.masks[groups.labels.index(value)]
            self._known[values] = [
                (table, number)
                for table, number, cell in self._cells
                if all(own & ~wide == 0 for own, wide in zip(masks, cell.masks, strict=True))
            ]
        return self._known[values]
