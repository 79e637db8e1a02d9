"""All result tables: the study's Tables 7–17, its values beside, and what it has no table for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Final

import polars as pl

from recon_cli.capabilities.score.collect import Collected
from recon_cli.capabilities.score.control import rounded, withhold
from recon_cli.capabilities.score.rates import (
    EVERYBODY,
    NONMODAL,
    PEOPLE,
    UNIQUE,
    ZERO,
    Rules,
    TableFamily,
    agreement_rates,
    attacker_rates,
    link_rates,
    people_rates,
)
from recon_cli.errors import ConfigError

#: The tables, in the order of reports.
TABLES = (
    "table03_attackers",
    "table07_uniques",
    "table07_zero_solvar",
    "table08_agreement",
    "table09_overall",
    "table10_zero_solvar",
    "table11_agreement_alternatives",
    "table12_all",
    "table13_nonmodal",
    "table14_modal",
    "table15_all_alternatives",
    "table16_nonmodal_alternatives",
    "table17_modal_alternatives",
    "uniques_by_size",
    "zero_solvar_by_size",
    "guessers",
)

#: Panel → table of its rates; the same for alternatives.
BY_PEOPLE: Final = {"all": "table12_all", "nonmodal": "table13_nonmodal", "modal": "table14_modal"}
ALTERNATIVES_BY_PEOPLE: Final = {
    "all": "table15_all_alternatives",
    "nonmodal": "table16_nonmodal_alternatives",
    "modal": "table17_modal_alternatives",
}


#: Closed forms of the guessers on their own origin: modal share, Σp².
_GUESSES: Final = {
    form: (form, "people")
    for form in ("modal", "proportional", "modal_without", "proportional_without")
}
#: Agreement of files, and that of alternatives.
AGREEMENT_TABLES: Final = ("table08_agreement", "table11_agreement_alternatives")


@dataclass(frozen=True)
class Sources:
    """The sources that result tables show.

    Attributes:
        alternatives: Alternatives in Tables 11 and 15–17 only; the study's are protected otherwise.
        records: Sources with records of their own; the other sources guess.
        modal: The modal guesser shown beside every rate, if there is one.
        ceiling: The truth as a source.
        measured: The source whose solution variability was measured, or None.
    """

    order: tuple[str, ...]
    alternatives: tuple[str, ...]
    records: tuple[str, ...]
    modal: str | None
    proportional: str | None
    ceiling: str
    measured: str | None = None

    @classmethod
    def of(
        cls,
        order: Sequence[str],
        guessers: Mapping[str, str],
        *,
        leave_one_out: Collection[str],
        truth: str,
        alternatives: Sequence[str] = (),
        measured: str | None = None,
    ) -> Sources:
        """Place the sources.

        Args:
            order: All sources, including guessers.
            guessers: Sources that guess → ``modal`` or ``proportional``.
            leave_one_out: Guessers that leave somebody out, which are shown beside no rate.
            truth: The ceiling.
        """
        usual = [name for name in guessers if name not in leave_one_out]
        kinds = {guessers[name]: name for name in reversed(usual)}
        return cls(
            order=tuple(order),
            alternatives=tuple(alternatives),
            records=tuple(name for name in order if name not in guessers),
            modal=kinds.get("modal"),
            proportional=kinds.get("proportional"),
            ceiling=truth,
            measured=measured,
        )

    @property
    def main(self) -> tuple[str, ...]:
        """Return the sources of Tables 8–10 and 12–14."""
        return tuple(name for name in self.order if name not in self.alternatives)

    @property
    def beside(self) -> tuple[str, ...]:
        """Return the sources of Tables 11 and 15–17: those with records."""
        return tuple(name for name in self.order if name in self.records)


def make_rates(
    collected: Collected, sources: Sources, rules: Rules, compare: str | None
) -> pl.DataFrame:
    """Compute every rate of every table.

    Returns:
        One row per rate: ``table, panel, source, against, block_size, rate, count, of, pct, low,
        high`` (percent), ``least, most`` (percent that no other reconstruction goes below or
        above; null where unknown), the same rate of the modal and the proportional guesser and of
        the truth as a source (``modal_pct, proportional_pct, ceiling_pct``), ``withheld``, and with
        ``compare`` the study's value and ours less it (``published_pct, difference``).

    Raises:
        ConfigError: There is no such study.
    """
    own, truth = sources.measured, sources.ceiling
    of = partial(people_rates, collected, rules=rules, source=truth, against=truth)
    zero = {"zero_people": ("population", "population"), "zero_units": ("units", "units")}
    is_known = not collected.people.keys["zero"].null_count()
    frames = [
        attacker_rates(collected, "table03_attackers", truth, rules),
        of("table07_uniques", {"unique": ("unique_defined", "population")}),
        *([of("table07_zero_solvar", zero, among=ZERO)] if is_known else []),
        agreement_rates(collected, "table08_agreement", sources.main, rules, own),
        *(link_rates(collected, family, rules) for family in _families(collected, sources)),
        of("guessers", _GUESSES, source="closed form", against="origin"),
    ]
    if sources.alternatives:
        name = "table11_agreement_alternatives"
        frames.append(agreement_rates(collected, name, sources.beside, rules, own))
    rows = rounded(withhold(pl.concat(frames)), rules.control.digits)
    rows = _beside(_in_order(rows, sources.order), sources)
    if compare is not None:
        rows = rows.join(published(compare), on=list(KEYS), how="left", maintain_order="left")
        rows = rows.with_columns((pl.col("pct") - pl.col("published_pct")).alias("difference"))
    return rows.drop("rank")


def _families(collected: Collected, sources: Sources) -> list[TableFamily]:
    main, others = sources.main, sources.beside
    unique = {f"{name}_unique": UNIQUE & who for name, who in PEOPLE.items()}
    families = [
        TableFamily({"table09_overall": {"all": EVERYBODY}}, by_size=False, sources=sources.order),
        TableFamily(_one_panel_each(BY_PEOPLE), sources=main),
        TableFamily({"uniques_by_size": unique}, sources=main),
    ]
    if sources.alternatives:
        families.append(TableFamily(_one_panel_each(ALTERNATIVES_BY_PEOPLE), sources=others))
    if collected.people.keys["zero"].null_count() < collected.people.keys.height:
        hard = {"nonmodal": NONMODAL & ZERO, "nonmodal_unique": NONMODAL & UNIQUE & ZERO}
        zero = {name: ZERO & who for name, who in PEOPLE.items()}
        families += [
            TableFamily({"table10_zero_solvar": hard}, by_size=False, sources=sources.order),
            TableFamily({"zero_solvar_by_size": zero}, sources=main),
        ]
    return families


def _one_panel_each(tables: Mapping[str, str]) -> dict[str, dict[str, pl.Expr]]:
    return {table: {who: PEOPLE[who]} for who, table in tables.items()}


def _in_order(rows: pl.DataFrame, sources: Sequence[str]) -> pl.DataFrame:
    tables = {name: at for at, name in enumerate(TABLES)}
    names = {name: at for at, name in enumerate(sources)}
    return rows.sort(
        pl.col("table").replace_strict(tables, return_dtype=pl.Int32),
        "panel",
        "against",
        "rank",
        pl.col("source").replace_strict(names, default=-1, return_dtype=pl.Int32),
        maintain_order=True,
    )


def _beside(rows: pl.DataFrame, sources: Sources) -> pl.DataFrame:
    """Put the guessers' and the truth's own rate beside every rate."""
    keys = ["table", "panel", "against", "block_size", "rate"]
    references: Mapping[str, str | None] = {
        "modal_pct": sources.modal,
        "proportional_pct": sources.proportional,
        "ceiling_pct": sources.ceiling,
    }
    for column, source in references.items():
        own = rows.filter(pl.col("source") == source) if source is not None else rows.clear()
        beside = own.select(*keys, pl.col("pct").alias(column))
        rows = rows.join(beside, on=keys, how="left", maintain_order="left")
    return rows


#: Column prefix of the study's attacker files → our names.
ATTACKERS = {"comrcl": "COMRCL", "cef": "CEF_atkr"}
KEYS = ("table", "panel", "source", "against", "block_size", "rate")


def study_folder(study: str) -> Traversable:
    """Return the folder with a study's printed tables.

    Raises:
        ConfigError: There is no such study.
    """
    folder = resources.files(__package__) / study
    if not folder.is_dir():
        raise ConfigError(f"score.compare: no study {study!r} (there is wp31995)")
    return folder


def published(study: str) -> pl.DataFrame:
    """Return all published rates of a study, in percent.

    Args:
        study: ``wp31995``, NBER Working Paper 31995.

    Returns:
        `KEYS` and ``published_pct`` (Float64).

    Raises:
        ConfigError: There is no such study.
    """
    folder = study_folder(study)
    tables = {
        entry.name.removesuffix(".csv"): pl.read_csv(entry.read_bytes())
        for entry in folder.iterdir()
        if entry.name.endswith(".csv")
    }
    frames = [
        frame
        for tables_of in (BY_PEOPLE, ALTERNATIVES_BY_PEOPLE)
        for panel, name in tables_of.items()
        for frame in _link_values(tables[name].with_columns(panel=pl.lit(panel)), name)
    ]
    frames += [
        frame for name in AGREEMENT_TABLES for frame in _agreement_values(tables[name], name)
    ]
    frames += _block_values(tables["table07_uniques_by_block_size"])
    total = tables["table12_all"].filter(pl.col("block_size") == "All")
    frames += _link_values(total.with_columns(panel=pl.lit("all")), "table09_overall")
    zero = tables["table10_zero_solvar"].with_columns(block_size=pl.lit("All"))
    frames += _link_values(zero, "table10_zero_solvar")
    return pl.concat(frames).unique(KEYS, maintain_order=True)


def _link_values(frame: pl.DataFrame, table: str) -> Iterator[pl.DataFrame]:
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


def _block_values(frame: pl.DataFrame) -> Iterator[pl.DataFrame]:
    sizes = pl.col("block_size").replace("1000+", "1,000+")
    sized = frame.with_columns(sizes, panel=pl.lit("all"), source=pl.lit("CEF"))
    yield _shaped(sized, "table07_uniques", "CEF", "unique", pl.col("unique_pct"))
    for rate, of in (("zero_people", "population_thousands"), ("zero_units", "blocks")):
        counts = sized.select("block_size", "panel", "source", of, zero=f"zero_solvar_{of}")
        total = counts.select(
            pl.lit("All").alias("block_size"),
            pl.lit("all").alias("panel"),
            pl.lit("CEF").alias("source"),
            pl.col(of, "zero").sum(),
        )
        share = 100 * pl.col("zero") / pl.col(of)
        yield _shaped(pl.concat([total, counts]), "table07_zero_solvar", "CEF", rate, share)


def _agreement_values(frame: pl.DataFrame, table: str) -> Iterator[pl.DataFrame]:
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
