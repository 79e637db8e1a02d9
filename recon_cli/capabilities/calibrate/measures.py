"""Measures of synthetic populations beside the published numbers, with tolerances."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

from recon_cli.strict_yaml import parse_yaml

#: Folders with the study's result tables, and with figures for the calibration alone.
_TABLES = resources.files("recon_cli.capabilities.score") / "wp31995"
_HERE = resources.files(__package__)
_SIZES = "table07_uniques_by_block_size.csv"
_OTHERS = "published.yaml"
#: A row per measured value; ``bound`` is null for a value without a tolerance.
MEASURES = pl.Schema(
    {
        "measure": pl.String,
        "size": pl.String,
        "seed": pl.Int64,
        "found": pl.Float64,
        "published": pl.Float64,
        "bound": pl.Float64,
    }
)
ALL = "All"
#: From this block size on, uniques and zero-solvar blocks may differ by more.
_BIG = 250
_Row = tuple[str, str, float, float | None, float | None]


@dataclass(frozen=True)
class Study:
    """The published numbers.

    Attributes:
        classes: One row per class of block size: ``size`` (its position), ``label``, ``lower`` and
            its published numbers: ``blocks``, ``people`` (thousands), ``unique_defined``,
            ``zero_solvar``, ``nonmodal``, ``agree_exact``, ``agree_binned`` (per cent),
            ``cef``, ``comrcl``, ``same_person``, ``same_person_nonmodal`` (thousands of records).
        all: The same for all classes together, by column.
        race: Per cent of people by ``hispanic`` and by ``races`` (a race alone, or several).
        text: Figures from the study's text, by name.
    """

    classes: pl.DataFrame
    all: dict[str, float]
    race: pl.DataFrame
    text: dict[str, float]

    @property
    def lower(self) -> tuple[int, ...]:
        """Return the smallest block of each class."""
        return tuple(self.classes["lower"])


@cache
def load_study() -> Study:
    """Read the packaged numbers.

    >>> load_study().classes["label"].to_list()[:2], load_study().all["nonmodal"]
    (['1-9', '10-49'], 23.9)
    """
    sizes = _csv(_TABLES / _SIZES)
    labels = sizes["block_size"].to_list()
    columns = {
        "label": labels,
        "lower": [int(label.rstrip("+").split("-")[0]) for label in labels],
        "blocks": sizes["blocks"].to_list(),
        "people": sizes["population_thousands"].to_list(),
        "unique_defined": sizes["unique_pct"].to_list(),
        "zero_solvar": sizes["zero_solvar_blocks_pct"].to_list(),
    }
    agreement = _csv(_TABLES / "table08_agreement.csv").filter(pl.col("comparison") == "HDF-CEF")
    everybody, nonmodal, modal = (
        _csv(_TABLES / name).filter(pl.col("source") == "CEF")
        for name in ("table12_all.csv", "table13_nonmodal.csv", "table14_modal.csv")
    )
    share = (
        100 * nonmodal["cef_population"] / (nonmodal["cef_population"] + modal["cef_population"])
    )
    # Every record of COMRCL that matches the CEF on pik and block is of a modal or of a nonmodal
    # person; equally many match on sex and agebin, too, to the four printed digits (Table 3).
    same_person = nonmodal["comrcl_population"] + modal["comrcl_population"]
    rates = {
        "nonmodal": share.round(1),
        "agree_exact": agreement["agree_exact_pct"],
        "agree_binned": agreement["agree_binned_pct"],
        "cef": everybody["cef_population"],
        "comrcl": everybody["comrcl_population"],
        "same_person": same_person,
        "same_person_nonmodal": nonmodal["comrcl_population"],
    }
    classes = pl.DataFrame(
        {**columns, **{name: values.cast(pl.Float64)[1:] for name, values in rates.items()}}
    ).with_row_index("size")
    others: dict[str, Any] = parse_yaml(
        (_HERE / _OTHERS).read_text(encoding="utf-8"), source=_OTHERS
    ).data
    race = [
        (kind == "hispanic", name, float(value))
        for kind in ("not_hispanic", "hispanic")
        for name, value in others.pop(kind).items()
    ]
    return Study(
        classes=classes.cast({"size": pl.Int64}),
        all={name: float(values[0]) for name, values in rates.items()},
        race=pl.DataFrame(race, schema=["hispanic", "races", "published"], orient="row"),
        text={name: float(value) for name, value in others.items()},
    )


def _csv(path: Any) -> pl.DataFrame:
    return pl.read_csv(io.BytesIO(path.read_bytes()))


@dataclass(frozen=True)
class Ratio:
    """A measure: one count over another, in per cent unless another unit is named.

    Attributes:
        over: Count in the numerator.
        under: Count in the denominator; ``total:`` before a count means its sum over all classes.
        published: The study's column, already a ratio; or two columns to divide.
        bound: Tolerance in the same unit; None if there is none.
        bound_big: Tolerance for large blocks.
        bound_all: Tolerance for all blocks together.
        scale: 100 for per cent.
    """

    title: str
    over: str
    under: str
    published: str | tuple[str, str]
    bound: float | None = None
    bound_big: float | None = None
    bound_all: float | None = None
    scale: float = 100.0


RATIOS = (
    Ratio("Share of blocks, by size (Table 7)", "blocks", "total:blocks",
          ("blocks", "total:blocks"), 0.5, 0.5),
    Ratio("Share of people, by size of their block (Table 7)", "people", "total:people",
          ("people", "total:people")),
    Ratio("Data-defined people unique on block, sex and agebin (Table 7)", "unique_defined",
          "people", "unique_defined", 2.0, 3.0),
    Ratio("Zero-solvar blocks (Table 7)", "zero_solvar", "blocks", "zero_solvar", 2.0, 3.0),
    Ratio("People of a nonmodal race-ethnicity (Table 13)", "nonmodal", "people", "nonmodal",
          2.0, 2.0, 2.0),
    Ratio("HDF-CEF agreement, binned age (Table 8)", "agree_binned", "people", "agree_binned",
          1.0, 1.0, 1.0),
    Ratio("HDF-CEF agreement, exact age (Table 8)", "agree_exact", "people", "agree_exact"),
    Ratio("Data-defined people (Table 12)", "data_defined", "people", ("cef", "people")),
    Ratio("COMRCL records that match the CEF on pik, block, sex, agebin (Table 3)",
          "matched", "comrcl", ("same_person", "comrcl"), None, None, 1.0),
    Ratio("COMRCL records that match the CEF on pik and block (Tables 13, 14)",
          "same_person", "comrcl", ("same_person", "comrcl"), None, None, 1.0),
    Ratio("Of these, records of nonmodal people (Tables 13, 14)", "same_person_nonmodal",
          "same_person", ("same_person_nonmodal", "same_person")),
    Ratio("COMRCL records for 100 of the CEF (Table 12)", "comrcl", "data_defined",
          ("comrcl", "cef"), None, None, 2.0),
)  # fmt: skip


def measure(study: Study, counts: pl.DataFrame, answers: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Compute all measures of one nation.

    Args:
        counts: From `recon_cli.capabilities.calibrate.blocks.by_class`, summed over counties.
        answers: From `recon_cli.capabilities.calibrate.blocks.count_answers`, summed over counties.

    Returns:
        Columns of `MEASURES`.
    """
    rows = [
        *(row for ratio in RATIOS for row in _ratio(study, counts, ratio)),
        *_figures(study, counts),
        *_races(study, answers),
    ]
    frame = pl.DataFrame(rows, schema=[n for n in MEASURES if n != "seed"], orient="row")
    return frame.with_columns(seed=pl.lit(seed)).select(MEASURES.names()).cast(MEASURES)


def _ratio(study: Study, counts: pl.DataFrame, ratio: Ratio) -> Iterator[_Row]:
    published = study.classes
    both = published.select("size", "label", "lower").join(counts, on="size", how="left")
    values = ratio.scale * _column(both, ratio.over) / _column(both, ratio.under)
    if isinstance(ratio.published, str):
        wanted = published[ratio.published]
        total = study.all.get(ratio.published)
    else:
        over, under = ratio.published
        wanted = ratio.scale * _column(published, over) / _column(published, under)
        whole = [float(_column(published, name).sum()) for name in (over, under)]
        total = ratio.scale * whole[0] / whole[1]
    for label, lower, value, target in zip(
        both["label"], both["lower"], values, wanted, strict=True
    ):
        if value is not None and value == value:  # noqa: PLR0124 - not a number: no such block
            bound = ratio.bound_big if lower >= _BIG else ratio.bound
            yield ratio.title, label, value, target, bound
    if ":" not in ratio.under:
        sums = [float(_column(both, name).sum()) for name in (ratio.over, ratio.under)]
        whole_found = ratio.scale * sums[0] / sums[1]
        yield ratio.title, ALL, whole_found, total, ratio.bound_all


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    total, _, of = name.rpartition(":")
    column = frame[of].cast(pl.Float64)
    return pl.repeat(column.sum(), len(column), eager=True) if total else column


def _figures(study: Study, counts: pl.DataFrame) -> Iterator[_Row]:
    sums = counts.sum().row(0, named=True)
    keyed = sums["with_pik"]
    for title, over, under, name, bound in (
        ("People unique on block, sex and age", sums["unique_exact"], sums["people"],
         "unique_exact", 2.0),
        ("Data-defined people", sums["data_defined"], sums["people"], "data_defined", None),
        ("Blocks with a repeated pik", sums["repeated_blocks"], sums["blocks"],
         "repeated_blocks", None),
        ("Records with a pik dropped as repeated", keyed - sums["data_defined"], keyed,
         "repeated_records", None),
    ):  # fmt: skip
        yield title, ALL, 100 * over / under, study.text[name], bound


def _races(study: Study, answers: pl.DataFrame) -> Iterator[_Row]:
    names = {1: "white", 2: "black", 4: "aian", 8: "asian", 16: "nhpi", 32: "sor"}
    races = answers["race"].cast(pl.Int64).replace_strict(names, default="several")
    shares = (
        answers.with_columns(races=races)
        .group_by("hispanic", "races")
        .agg(found=100 * pl.col("people").sum() / answers["people"].sum())
    )
    both = study.race.join(
        shares, on=["hispanic", "races"], how="left", maintain_order="left"
    ).fill_null(0.0)
    for hispanic, races_, published, share in both.iter_rows():
        name = f"{'Hispanic' if hispanic else 'not Hispanic'}, {races_}"
        yield "People by race and ethnicity", name, share, published, None


def judge(measures: pl.DataFrame) -> pl.DataFrame:
    """Tabulate measures by title and size: each seed's value, the largest difference, and ``ok``.

    ``ok`` is null without a tolerance.
    """
    off = (pl.col("found") - pl.col("published")).abs()
    return measures.group_by("measure", "size", maintain_order=True).agg(
        pl.col("published").first(),
        found=pl.col("found"),
        off=off.max(),
        bound=pl.col("bound").first(),
        ok=(off.max() <= pl.col("bound").first()),
    )
