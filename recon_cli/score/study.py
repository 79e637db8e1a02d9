"""The published values that ours are put beside."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources

import polars as pl

from recon_cli.errors import ConfigError

#: Column prefix of the study's attacker files → our names.
ATTACKERS = {"comrcl": "COMRCL", "cef": "CEF_atkr"}
KEYS = ("table", "panel", "source", "against", "block_size", "rate")

_LINK_TABLES = {
    "table12_all": "all",
    "table13_nonmodal": "nonmodal",
    "table14_modal": "modal",
    "table15_all_alternatives": "all",
    "table16_nonmodal_alternatives": "nonmodal",
    "table17_modal_alternatives": "modal",
}
_AGREEMENT_TABLES = ("table08_agreement", "table11_agreement_alternatives")


def published(study: str) -> pl.DataFrame:
    """All published rates of a study, in percent.

    Args:
        study: ``wp31995``, NBER Working Paper 31995.

    Returns:
        `KEYS` and ``published_pct`` (Float64).

    Raises:
        ConfigError: There is no such study.
    """
    folder = resources.files("recon_cli.score") / study
    if not folder.is_dir():
        raise ConfigError(f"score.compare: no study {study!r} (there is wp31995)")
    tables = {
        entry.name.removesuffix(".csv"): pl.read_csv(entry.read_bytes())
        for entry in folder.iterdir()
        if entry.name.endswith(".csv")
    }
    frames = [
        frame
        for name, panel in _LINK_TABLES.items()
        for frame in _links(tables[name].with_columns(panel=pl.lit(panel)), name)
    ]
    frames += [frame for name in _AGREEMENT_TABLES for frame in _agreement(tables[name], name)]
    frames.append(_uniques(tables["table07_uniques_by_block_size"]))
    total = tables["table12_all"].filter(pl.col("block_size") == "All")
    frames += _links(total.with_columns(panel=pl.lit("all")), "table09_overall")
    zero = tables["table10_zero_solvar"].with_columns(block_size=pl.lit("All"))
    frames += _links(zero, "table10_zero_solvar")
    return pl.concat(frames).unique(KEYS, maintain_order=True)


def _links(frame: pl.DataFrame, table: str) -> Iterator[pl.DataFrame]:
    for prefix, attacker in ATTACKERS.items():
        people, putative, confirmed = (
            pl.col(f"{prefix}_{name}") for name in ("population", "putative", "confirmed")
        )
        rates = {
            "putative": 100 * putative / people,
            "confirmed": 100 * confirmed / people,
            "precision": pl.col(f"{prefix}_precision_pct"),
        }
        for rate, value in rates.items():
            yield _shaped(frame, table, attacker, rate, value)


def _uniques(frame: pl.DataFrame) -> pl.DataFrame:
    sizes = pl.col("block_size").replace("1000+", "1,000+")
    sized = frame.with_columns(sizes, panel=pl.lit("all"), source=pl.lit("CEF"))
    return _shaped(sized, "table07_uniques", "CEF", "unique", pl.col("unique_pct"))


def _agreement(frame: pl.DataFrame, table: str) -> Iterator[pl.DataFrame]:
    sides = pl.col("comparison").str.split("-")
    split = frame.with_columns(
        source=sides.list.get(0), against=sides.list.get(1), panel=pl.lit("all")
    )
    for rate in ("agree_exact", "agree_binned"):
        yield _shaped(split, table, None, rate, pl.col(f"{rate}_pct"))


def _shaped(
    frame: pl.DataFrame, table: str, against: str | None, rate: str, value: pl.Expr
) -> pl.DataFrame:
    return frame.select(
        pl.lit(table).alias("table"),
        "panel",
        "source",
        pl.col("against") if against is None else pl.lit(against).alias("against"),
        "block_size",
        pl.lit(rate).alias("rate"),
        value.cast(pl.Float64).alias("published_pct"),
    )
