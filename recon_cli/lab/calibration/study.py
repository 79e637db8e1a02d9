"""The published numbers that a synthetic population is compared with."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import polars as pl

from recon_cli.strict_yaml import parse_yaml

#: Where the study's result tables are packaged, and what only the calibration needs.
_TABLES = resources.files("recon_cli.score") / "wp31995"
_HERE = resources.files("recon_cli.lab.calibration")
_SIZES = "table07_uniques_by_block_size.csv"
_OTHERS = "published.yaml"


@dataclass(frozen=True)
class Study:
    """Published numbers.

    Attributes:
        classes: One row per class of block size: ``size`` (its position), ``label``, ``lower`` and
            what is published of it: ``blocks``, ``people`` (thousands), ``unique_defined``,
            ``zero_solvar``, ``nonmodal``, ``agree_exact``, ``agree_binned`` (per cent),
            ``cef``, ``comrcl``, ``same_person``, ``same_person_nonmodal`` (thousands of records).
        all: Likewise for all classes together, by column.
        race: Per cent of people by ``hispanic`` and by ``races`` (a race alone, or several).
        text: Figures that stand in no table, by name.
    """

    classes: pl.DataFrame
    all: dict[str, float]
    race: pl.DataFrame
    text: dict[str, float]

    @property
    def lower(self) -> tuple[int, ...]:
        """The smallest block of each class."""
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
    # person; as many match on sex and agebin, too, to the four digits that are printed (Table 3).
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
