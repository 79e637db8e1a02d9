"""The re-identification attack on one partition: every source against every attacker file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from recon_cli.attack.linkage.baselines import (
    ValueCounts,
    chance_of,
    expected_correct,
    modal_guess,
    proportional_guess,
)
from recon_cli.attack.linkage.dedup import (
    FLAGS,
    attach_truth,
    is_set,
    one_per_id,
    unique_on,
    with_order,
)
from recon_cli.attack.linkage.key_encoding import KeyEncoder, require
from recon_cli.attack.linkage.links import (
    GROUPS,
    count_agreement,
    count_links,
    count_records,
    gained_values,
    putative_links,
)
from recon_cli.attack.linkage.specification import TABLES, Guesser, LinkageSpecification
from recon_cli.errors import SourceError

#: Called with the links of one attacker and source: a row each, in the release's columns.
Emit = Callable[[pl.DataFrame], None]

TARGETS: dict[str, type[pl.DataType]] = {
    "attacker": pl.String,
    "modal": pl.Boolean,
    "unique": pl.Boolean,
    "records": pl.Int32,
}
TALLIES: dict[str, type[pl.DataType]] = {
    "attacker": pl.String,
    "source": pl.String,
    "modal": pl.Boolean,
    "unique": pl.Boolean,
    "putative": pl.Int32,
    "exact": pl.Int32,
    "confirmed": pl.Int32,
    "expected": pl.Float64,
}
AGREEMENT: dict[str, type[pl.DataType]] = {
    "left": pl.String,
    "right": pl.String,
    "exact": pl.Int32,
    "agree": pl.Int32,
}


@dataclass(frozen=True)
class LinkageCounts:
    """What came of one partition; every frame has the release's geoid column first.

    Attributes:
        targets: Attacker records, by attacker, modal and unique (`TARGETS`).
        tallies: Links, by attacker, source, modal and unique (`TALLIES`). ``expected_correct`` is
            what a proportional guesser is due on average of ``confirmed``; null for others.
        agreement: Records that agree, by pair of files (`AGREEMENT`).
        truth: A row a unit: ``population, linkable, nonmodal, unique_people,
            unique_nonmodal``, and for
            how many people the guessers are right on average about their own origin.
        left_out: ``file: reason`` → records that take no part.
    """

    targets: pl.DataFrame
    tallies: pl.DataFrame
    agreement: pl.DataFrame
    truth: pl.DataFrame
    left_out: Mapping[str, int]


@dataclass
class PartitionLinkage:
    """One partition under attack.

    Attributes:
        lineup: What is linked with what.
        records: Origin → its records, as its file has them.
        files: Attacker → its records, likewise.
        margin: For guessers from published tables: the release's geoid column, the gained
            columns and ``n``.
        left_out: Grows as files are read.
    """

    lineup: LinkageSpecification
    records: Mapping[str, pl.DataFrame]
    files: Mapping[str, pl.DataFrame]
    margin: pl.DataFrame | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    _values: dict[str, ValueCounts] = field(default_factory=dict)

    def run(self, emit: Emit = lambda _links: None) -> LinkageCounts:
        """Link everything.

        Args:
            emit: Gets the links of each attacker and source: ``attacker, source``, the id, the
                geoid, the linking and gained columns, ``pass``, ``confirmed``.

        Raises:
            SourceError: A file lacks a column or holds a value that the schema does not know.
        """
        attackers = {name: self._attacker(name) for name in self.lineup.attackers}
        targets = [
            count_records(people, ["unit", *GROUPS]).with_columns(attacker=pl.lit(name))
            for name, people in attackers.items()
        ]
        tallies: list[pl.DataFrame] = []
        agreements: list[pl.DataFrame] = []
        held = {}
        for origin in self.lineup.used:
            people = self._people(origin)
            if origin == self.lineup.baseline:
                self._value_counts(origin, people)
            if any(origin in pair for pair in self.lineup.comparisons):
                held[origin] = people
            if attackers:
                tallies += self._link(origin, people, attackers, emit)
        for left, right in self.lineup.comparisons:
            names = {"left": pl.lit(left), "right": pl.lit(right)}
            agreements.append(count_agreement(held[left], held[right]).with_columns(**names))
        return LinkageCounts(
            self._placed(targets, TARGETS),
            self._placed(tallies, TALLIES),
            self._placed(agreements, AGREEMENT),
            self._units(),
            dict(self.left_out),
        )

    @property
    def no_links(self) -> pl.DataFrame:
        """The columns of links, without rows."""
        lineup = self.lineup
        columns = dict.fromkeys((*lineup.keys.exact, *lineup.keys.binned, *lineup.keys.gains))
        schema: dict[str, type[pl.DataType]] = {
            "attacker": pl.String,
            "source": pl.String,
            lineup.id: pl.String,
            lineup.release.geoid_column: pl.String,
            **{name: lineup.release.column_groups(name).dtype for name in columns},
            "pass": pl.String,
            "confirmed": pl.Boolean,
        }
        return pl.DataFrame(schema=schema)

    @cached_property
    def coder(self) -> KeyEncoder:
        """For the geounits that the truth has people in."""
        lineup = self.lineup
        raw, column = self.records[lineup.truth], lineup.release.geoid_column
        require(raw, (column,), lineup.truth)
        return KeyEncoder(
            lineup.release, lineup.keys, raw[column].cast(pl.String).drop_nulls().unique().sort()
        )

    @cached_property
    def truth(self) -> pl.DataFrame:
        """Everybody: ``unit, exact, binned, gain, modal, unique, order``, the id and its flags."""
        lineup, raw = self.lineup, self.records[self.lineup.truth]
        keep = self._id_columns(raw, lineup.truth) if lineup.attackers else []
        if lineup.data_defined is not None:
            keep.append(lineup.data_defined)
        encoded = self.coder.encode(raw, name=lineup.truth, keep=keep)
        if missing := sum(encoded.left_out.values()):
            needed = ", ".join((*lineup.keys.binned, *lineup.keys.gains))
            raise SourceError(
                f"{lineup.truth}: {missing:,} records lack a geoid or one of {needed}; "
                "the truth must be complete"
            )
        people = self._in_order(encoded.records, "truth")
        mode = pl.Series(self._value_counts(lineup.truth, people).modes).gather(people["unit"])
        return people.with_columns(
            (people["gain"] == mode).alias("modal"), unique_on(people, "binned")
        )

    @cached_property
    def linkable(self) -> pl.DataFrame:
        """The truth's records that a person can be found by: data-defined, one for each id."""
        name, flag = self.lineup.truth, self.lineup.data_defined
        people = self.truth
        if flag is not None:
            people = people.filter(is_set(flag))
            self._leave_out(name, {"not data-defined": self.truth.height - people.height})
        found = one_per_id(people)
        self._leave_out(name, found.left_out)
        return found.records

    def _attacker(self, name: str) -> pl.DataFrame:
        """An attacker file, one record for each id in a unit, with what is true of them."""
        if name in self.lineup.from_truth:
            columns = ["unit", "exact", "binned", "id", "order"]
            return attach_truth(self.linkable.select(columns), self.linkable)
        raw = self.files[name]
        keep = self._id_columns(raw, name)
        encoded = self.coder.encode(raw, name=name, gains=False, lenient=True, keep=keep)
        self._leave_out(name, encoded.left_out)
        found = one_per_id(self._in_order(encoded.records, f"attacker {name}"))
        self._leave_out(name, found.left_out)
        return attach_truth(found.records, self.linkable)

    def _people(self, origin: str) -> pl.DataFrame:
        """A source's records: ``unit, exact, binned, order`` and, but for `TABLES`, ``gain``."""
        columns = ["unit", "exact", "binned", *([] if origin == TABLES else ["gain"])]
        if origin == self.lineup.truth:
            people = self.truth
        else:
            encoded = self.coder.encode(self.records[origin], name=origin, gains=origin != TABLES)
            self._leave_out(origin, encoded.left_out)
            people = encoded.records
        # another order than the truth's own as an attacker, or all would meet themselves
        return self._in_order(people.select(columns), f"source {origin}")

    def _link(
        self,
        origin: str,
        people: pl.DataFrame,
        attackers: Mapping[str, pl.DataFrame],
        emit: Emit,
    ) -> Iterator[pl.DataFrame]:
        """Link all sources that share the records of ``origin``: it and its guessers."""
        guessers = self.lineup.sharing(origin)
        gains = {guesser.name: self._guess(guesser, people) for guesser in guessers}
        if origin != TABLES:
            gains = {origin: people["gain"], **gains}
        chances = {g.name for g in guessers if g.kind == "proportional" and not g.leave_one_out}
        for attacker, targets in attackers.items():
            pairs = putative_links(people, targets)
            for source, values in gains.items():
                links = gained_values(pairs, values, targets)
                if source in chances:
                    true = targets.select("unit", "true_gain")
                    chance = chance_of(self._value_counts(origin, people), true)
                    links = links.with_columns(chance.gather(pairs["attacker"]).alias("chance"))
                names = {"attacker": pl.lit(attacker), "source": pl.lit(source)}
                yield count_links(links).with_columns(**names)
                emit(self._shown(links).select(*(e.alias(n) for n, e in names.items()), pl.all()))

    def _guess(self, guesser: Guesser, people: pl.DataFrame) -> pl.Series:
        values, without = self._value_counts(guesser.origin, people), guesser.leave_one_out
        if guesser.kind == "modal":
            return modal_guess(values, people, leave_one_out=without)
        purpose = f"guess {guesser.name}"
        return proportional_guess(values, people, self.lineup.seed, purpose, leave_one_out=without)

    def _value_counts(self, origin: str, people: pl.DataFrame) -> ValueCounts:
        """How often each gained value occurs in an origin, by unit."""
        if origin not in self._values:
            if origin == TABLES:
                counts = self._published()
            else:
                counts = people.group_by("unit", "gain").agg(pl.len().alias("n"))
            self._values[origin] = ValueCounts.of(
                counts, self.coder.geoids, self.lineup.parent_digits, self.lineup.modes[origin]
            )
        return self._values[origin]

    def _published(self) -> pl.DataFrame:
        if self.margin is None:
            raise SourceError("guessers from tables need the published counts")
        unit = self.coder.units(self.margin, TABLES)
        gain = self.coder.pack(self.margin, self.lineup.keys.gains, TABLES)
        counts = pl.DataFrame([unit.alias("unit"), gain.alias("gain"), self.margin["n"]])
        return counts.drop_nulls("unit")

    def _shown(self, links: pl.DataFrame) -> pl.DataFrame:
        """Links in the columns of the release."""
        lineup, coder = self.lineup, self.coder
        columns = [
            links["id"].alias(lineup.id),
            coder.geoids.gather(links["unit"]).alias(lineup.release.geoid_column),
        ]
        keys = lineup.keys
        for number, names in (("exact", keys.exact), ("binned", keys.binned), ("gain", keys.gains)):
            shown = {column.name for column in columns}
            unpacked = coder.unpack(links[number], names)
            columns += [column for column in unpacked if column.name not in shown]
        return pl.DataFrame([*columns, links["pass"].cast(pl.String), links["confirmed"]])

    def _units(self) -> pl.DataFrame:
        """What the truth and the closed forms say of every unit."""
        unique, nonmodal = pl.col("unique"), ~pl.col("modal")
        found = self.truth.group_by("unit").agg(
            pl.len().cast(pl.Int32).alias("population"),
            nonmodal.sum().cast(pl.Int32).alias("nonmodal"),
            unique.sum().cast(pl.Int32).alias("unique_people"),
            (unique & nonmodal).sum().cast(pl.Int32).alias("unique_nonmodal"),
        )
        if self.lineup.attackers:
            linkable = count_records(self.linkable, ["unit"]).rename({"records": "linkable"})
            found = found.join(linkable, on="unit", how="left")
        else:
            found = found.with_columns(linkable=pl.lit(0, pl.Int32))
        right = expected_correct(self._values[self.lineup.baseline])
        found = found.join(right, on="unit", how="left").fill_null(0)
        return self._placed([found], {name: found.schema[name] for name in found.columns[1:]})

    def _placed(
        self, frames: Sequence[pl.DataFrame], schema: Mapping[str, pl.DataType | type[pl.DataType]]
    ) -> pl.DataFrame:
        """Frames by unit as one frame by geoid, sorted."""
        column = self.lineup.release.geoid_column
        if not frames:
            return pl.DataFrame(schema={column: pl.String, **schema})
        whole = pl.concat([frame.select("unit", *schema) for frame in frames])
        geoids = self.coder.geoids.gather(whole["unit"]).alias(column)
        named = pl.DataFrame([geoids, *whole.select(*schema).cast(pl.Schema(schema))])
        return named.sort(column, *schema)

    def _in_order(self, records: pl.DataFrame, purpose: str) -> pl.DataFrame:
        if self.lineup.id in records.columns:
            records = records.rename({self.lineup.id: "id"}).cast({"id": pl.String})
        return with_order(self.coder, records, self.lineup.seed, purpose)

    def _id_columns(self, raw: pl.DataFrame, name: str) -> list[str]:
        require(raw, (self.lineup.id,), name)
        return [self.lineup.id, *(flag for flag in FLAGS if flag in raw.columns)]

    def _leave_out(self, name: str, counts: Mapping[str, int]) -> None:
        self.left_out.update({f"{name}: {why}": n for why, n in counts.items() if n})
