"""Tiny random releases under every law, with units, counts and tables that are not in the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import polars as pl
import yaml

import recon_cli as recon
from recon_cli.capabilities.protect.true_counts import protection_files
from recon_cli.coverage import UNLISTED
from recon_cli.errors import SourceError
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from recon_cli.statement import EXACT, FLAGGED, Protection, Statement, parse_law
from tests.support.populations import possible_records, publish, random_records, random_units
from tests.support.protecting import all_counts, draws_at

#: What a release is published under: a law for each name, `MIXED` one for each table and level.
LAWS: Final[Mapping[str, Any]] = {
    "exact": "exact",
    "suppressed": {"suppressed": {"below": 3}},
    "suppressed, zeros too": {"suppressed": {"below": 2, "flagged": "may-be-zero"}},
    "suppressed, open": {"suppressed": {"below": 3, "complementary": True}},
    "zeroed": {"zeroed": {"below": 3}},
    "rounded, nearest": {"rounded": {"base": 3, "how": "nearest"}},
    "rounded, random": {"rounded": {"base": 3}},
    "cell key": {"cellkey": {"max": 2, "variance": 1.08, "never": [1]}},
    "gaussian": {"gaussian": {"variance": 1.0}},
    "geometric": {"geometric": {"epsilon": 1.0}},
    "randomized": {"randomized": {"people": 9, "inside": 0.9, "outside": 0.1}},
}
INTERVALS: Final = "intervals of rows"
MIXED: Final = "mixed"
NAMES: Final = (*LAWS, INTERVALS, MIXED)

_FEATURES: Final[tuple[dict[str, Any], ...]] = (
    {"a": {"categories": ["x", "y"]}},
    {"b": {"categories": [False, True]}},
    {"c": {"range": "0..2"}},
    {"d": {"multiselect": ["p", "q"]}},
)
_RECODES: Final[Mapping[str, dict[str, Any]]] = {
    "c": {"c_band": {"of": "c", "edges": [0, 1]}, "c_both": {"of": "c", "groups": {"m": ["0..1"]}}},
    "d": {
        "d_any": {"of": "d", "includes": ["p", "q"]},
        "d_number": {"of": "d", "picked": [1, 2]},
    },
}
_COARSE: Final[Mapping[str, str]] = {"c": "c_band", "d": "d_number"}
_UNIVERSES: Final[Mapping[str, Any]] = {"a": ["x"], "b": [True], "c": ["0..1"], "d": [1, 3]}


@dataclass(frozen=True)
class TinyRelease:
    """A release, who it is of, and what is published of them.

    Attributes:
        law: One of `NAMES`.
        release: The schema.
        records: The truth.
        published: What an attacker has.
        is_right: Whether what is published is true of the records; else one count was changed.
        files: The same as files that `recon ingest` reads, and its keys, as of `_as_files`.
    """

    law: str
    release: Release
    records: pl.DataFrame
    published: Publication
    is_right: bool
    files: Mapping[str, bytes]

    def home(self, geoid: str) -> str | None:
        """The unit of the publication that a true one belongs to; None where it has none."""
        listed = set(self.published.geounits["geoid"])
        if geoid in listed:
            return geoid
        digits = sorted((level.digits for level in self.release.geography.levels), reverse=True)
        filled = (geoid[:each].ljust(len(geoid), UNLISTED) for each in digits)
        return next((each for each in filled if each in listed), None)


def make_release(seed: int, number: int) -> TinyRelease | None:
    """The release of a number; None where nothing is published at all."""
    rng = np.random.default_rng([seed, number])
    law = NAMES[number % len(NAMES)]
    schema = _schema(rng)
    release = parse_release(schema, source=f"release {number}")
    homes, empty = _places(release, rng)
    units = sorted({*homes, *empty})
    people = int(rng.choice([0, 1, 2, 3, 4], p=[0.05, 0.15, 0.3, 0.3, 0.2]))
    records = random_records(release, int(rng.integers(2**31)), people, homes)
    records = possible_records(release, records)
    protection = _protection(release, law, rng)
    rows = _protected(all_counts(publish(release, records, units)), law, protection, rng)
    absent = str(rng.choice(["zero", "unpublished"]))
    rows = _left_out(release, rows, absent, rng)
    is_right = bool(rng.random() > 0.15)
    if not is_right and rows.height:
        rows = _changed(rows, rng)
    if rows.is_empty():
        return None
    listed = units if rng.random() < 0.4 or _lacks_places(release, rows) else None
    # Where nothing is declared, counts are no intervals, and other code reads them.
    declared = EXACT if law == INTERVALS else protection
    options: dict[str, Any] = {"absent": absent, "protection": declared}
    shown = rows.drop("level")
    try:
        published = recon.publish(release, shown, geounits=listed, **options)
    except SourceError:
        if is_right:
            raise
        return None  # a number that no count gives
    files = _as_files(release, shown, listed, protection if declared is not EXACT else None)
    files |= {"tiny.yaml": schema.encode(), "run.yaml": _run(absent, listed).encode()}
    return TinyRelease(law, release, records, published, is_right, files)


def _lacks_places(release: Release, rows: pl.DataFrame) -> bool:
    """Test whether a unit has rows, and a coarser place that it is in has none, as others do.

    Without a list of places such a release is refused, and told to give one.
    """
    units = rows.filter(pl.col("level") == release.geography.unit.name)["geoid"].unique()
    printed = {level: {*own["geoid"]} for (level,), own in rows.group_by("level")}
    return any(
        {place for unit in units if (place := level.enclosing(unit))} - printed[level.name]
        for level in release.geography.levels
        if level.name in printed
    )


def _places(release: Release, rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """Units where people may live, in a partition or two, and some of empty partitions."""
    homes, *others = (
        random_units(release, int(rng.integers(2**31)), int(rng.integers(1, most)))
        for most in (4, 3, 3)
    )
    if rng.random() < 0.15:
        homes += others.pop()
    return homes, [unit for units in others if rng.random() < 0.25 for unit in units]


def _as_files(
    release: Release, counts: pl.DataFrame, listed: list[str] | None, protection: Protection | None
) -> dict[str, bytes]:
    files = {"counts.csv": counts.write_csv().encode()}
    if listed is not None:
        files["geounits.txt"] = "".join(f"{geoid}\n" for geoid in ("geoid", *listed)).encode()
    if protection is not None and protection.statements:
        files |= protection_files(release, protection)
    return files


def _run(absent: str, listed: list[str] | None) -> str:
    """The config of a run over the files."""
    ingest = {"source": "tidy", "paths": ["counts.csv"], "absent": absent}
    if listed is not None:
        ingest["geounits"] = "geounits.txt"
    run = {"release": "tiny.yaml", "work": "work", "workers": 1, "ingest": ingest}
    return yaml.safe_dump(run, sort_keys=False)


def _schema(rng: np.random.Generator) -> str:
    chosen = [_FEATURES[i] for i in rng.permutation(len(_FEATURES))[: rng.integers(1, 3)]]
    features = {name: form for each in chosen for name, form in each.items()}
    recodes = {k: v for name in features for k, v in _RECODES.get(name, {}).items()}
    # Coarser columns than the tables': what tells people apart need not be what is asked about.
    columns = [
        _COARSE[name] if name in _COARSE and rng.random() < 0.3 else name for name in features
    ]
    has_totals_alone = rng.random() < 0.05
    levels = [{"level": "block", "digits": 6}, {"level": "tract", "digits": 4}]
    levels.append({"level": "county", "digits": 2})
    levels = levels[int(rng.integers(0, 3)) :]
    names = [str(level["level"]) for level in levels]
    families = []
    for number in range(int(rng.integers(1, 4))):
        at = sorted(rng.permutation(len(names))[: rng.integers(1, len(names) + 1)])
        tables: dict[str, Any] = {f"T{number}": {}}
        if rng.random() < 0.4:
            name = str(rng.choice(list(features)))
            tables[f"T{number}U"] = {"universe": {name: _UNIVERSES[name]}}
        families.append(
            {
                "levels": [names[i] for i in at],
                "cells": ["total"]
                if has_totals_alone or rng.random() < 0.1
                else list(_cells([*features, *recodes], "d" in features, rng)),
                "tables": tables,
            }
        )
    spec: dict[str, Any] = {
        "release": "tiny",
        "title": "A tiny release",
        "features": features,
        "recodes": recodes,
        "geography": {"levels": levels, "partition": names[-1]},
        "microdata": list(dict.fromkeys([*features, *columns])),
        "histogram": columns,
        "families": families,
    }
    if len(features) == 2 and rng.random() < 0.3:  # households, of which some kinds cannot be
        spec["record"] = "household"
        first, second = (
            {str(name): _UNIVERSES[str(name)]} for name in rng.permutation(list(features))
        )
        spec["structural_zeros"] = [{"when": first, "only": second, "why": "made up"}]
    return yaml.safe_dump(spec, sort_keys=False)


def _cells(names: list[str], tallies: bool, rng: np.random.Generator) -> Iterator[Any]:
    if rng.random() < 0.7:
        yield "total"
    if tallies and rng.random() < 0.4:
        yield {"tally": "d"}
    for _ in range(int(rng.integers(1, 3))):
        outer, inner = (str(name) for name in rng.choice(names, 2))
        cells: list[Any] = ["total"] if rng.random() < 0.6 else []
        if outer != inner and (not cells or rng.random() < 0.7):
            cells.append({"by": inner})
        yield {"by": outer, "cells": cells or ["total"]}


def _protection(release: Release, law: str, rng: np.random.Generator) -> Protection | None:
    """One law for most tables and levels, or any; tables need not be in the files."""
    if law in {"exact", INTERVALS}:
        return None
    names = list(LAWS)
    return Protection(
        tuple(
            Statement(
                parse_law(LAWS[str(rng.choice(names)) if law == MIXED else law]),
                (table.name,),
                (level,),
            )
            for table in release.tables
            for level in table.levels
            if law == MIXED or rng.random() < 0.7
        )
    )


def _protected(
    counts: pl.DataFrame, law: str, protection: Protection | None, rng: np.random.Generator
) -> pl.DataFrame:
    """Columns ``geoid, level, table, cell, count``, as text; ``low, high`` where rows give them."""
    if law == INTERVALS:
        low = [max(n - int(rng.integers(0, 3)), 0) for n in counts["count"]]
        high = [
            None if rng.random() < 0.1 else n + int(rng.integers(0, 3)) for n in counts["count"]
        ]
        return counts.with_columns(
            low=pl.Series(low, dtype=pl.Int64), high=pl.Series(high, dtype=pl.Int64)
        )
    if protection is None:
        return counts
    shown = []
    for _, level, table, _, count in counts.rows():
        of_cell = protection.laws[protection.number(table, level)]
        number = int(of_cell.publish(np.array(count), draws_at(np.array(rng.random()))))
        shown.append("*" if number == FLAGGED else str(number))
    return counts.with_columns(count=pl.Series(shown, dtype=pl.String))


def _left_out(
    release: Release, rows: pl.DataFrame, absent: str, rng: np.random.Generator
) -> pl.DataFrame:
    """Without some tables, the finest level, most zeros, or counts, units and places at random."""
    gone = [table.name for table in release.tables if rng.random() < 0.1]
    rows = rows.filter(~pl.col("table").is_in(gone))
    if rng.random() < 0.15:
        rows = rows.filter(pl.col("level") != release.geography.unit.name)
    if absent == "unpublished":
        hidden = [geoid for geoid in rows["geoid"].unique().sort() if rng.random() < 0.2]
        kept = pl.Series(rng.random(rows.height) > 0.15)
        coarse = rows.filter(pl.col("level") != release.geography.unit.name)["geoid"]
        for place in coarse.unique().sort():
            if rng.random() < 0.1:  # with all that is in it
                kept &= ~rows["geoid"].str.starts_with(place)
        return rows.filter(~pl.col("geoid").is_in(hidden) & kept)
    is_zero = pl.col("count").cast(pl.String) == "0"
    if "high" in rows.columns:
        is_zero &= (pl.col("high") == 0).fill_null(value=False)
    first = pl.struct("geoid", "cell") == pl.struct("geoid", "cell").first().over("table", "level")
    shown = pl.Series(rng.random(rows.height) < 0.1)
    return rows.filter(~is_zero | shown | (is_zero.all().over("table", "level") & first))


def _changed(rows: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    """One number more or less, which need not be possible then."""
    at = pl.int_range(pl.len()) == int(rng.integers(rows.height))
    step = int(rng.choice([-1, 1, 3]))
    number = pl.col("count").cast(pl.Int64, strict=False)
    changed = pl.max_horizontal(number + step, 0).cast(pl.String)
    text = pl.col("count").cast(pl.String)
    moved = pl.when(at & number.is_not_null()).then(changed).otherwise(text)
    if "high" not in rows.columns:
        return rows.with_columns(count=moved)
    ends = [
        pl.when(at).then(pl.max_horizontal(pl.col(n) + step, 0)).otherwise(n).alias(n)
        for n in ("low", "high")
    ]
    return rows.with_columns(ends)
