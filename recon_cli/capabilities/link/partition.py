"""Record linkage in one partition: every source with every attacker file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from recon_cli.capabilities.link.baselines import (
    ValueCounts,
    chance_of,
    expected_correct,
    is_modal,
    modal_guess,
    proportional_guess,
)
from recon_cli.capabilities.link.files import FLAGS, is_set, one_per_id, unique_on, with_order
from recon_cli.capabilities.link.key_encoding import KeyEncoder, require
from recon_cli.capabilities.link.links import (
    GROUPS,
    NO_CHANCES,
    attach_truth,
    confirmed_chances,
    count_agreement,
    count_links,
    count_links_by_pass,
    gained_values,
    putative_links,
)
from recon_cli.capabilities.link.published_margins import PublishedMargins
from recon_cli.capabilities.link.specification import (
    TABLES,
    Guesser,
    LinkageSpecification,
    parent_level,
)
from recon_cli.errors import SourceError

#: Called with the links of one attacker and source: one row per link, in the release's columns.
OnLinks = Callable[[pl.DataFrame], None]

_Schema = dict[str, type[pl.DataType]]
TARGETS: _Schema = {"attacker": pl.String, **dict.fromkeys(GROUPS, pl.Boolean), "records": pl.Int32}
TALLIES: _Schema = {
    **dict.fromkeys(("attacker", "source"), pl.String),
    **dict.fromkeys(GROUPS, pl.Boolean),
    **dict.fromkeys(("putative", "exact", "confirmed"), pl.Int32),
    "expected": pl.Float64,
}
#: Expected numbers of confirmed links: by chance, over ties, by guessers.
_EXPECTED = ("expected", "expected_confirmed", "modal_confirmed", "proportional_confirmed")
#: Tallies by pass, for user-defined passes.
TALLIES_BY_PASS: _Schema = {
    **dict.fromkeys(("attacker", "source", "pass"), pl.String),
    **dict.fromkeys(GROUPS, pl.Boolean),
    **dict.fromkeys(("putative", "confirmed", "same_unit"), pl.Int32),
    **dict.fromkeys(_EXPECTED, pl.Float64),
}
AGREEMENT: _Schema = {
    **dict.fromkeys(("left", "right"), pl.String),
    **dict.fromkeys(("exact", "near", "agree"), pl.Int32),
}


@dataclass(frozen=True)
class LinkageCounts:
    """The result of one partition; every frame has the release's geoid column first.

    Attributes:
        targets: Attacker records, by attacker, modal and unique (`TARGETS`).
        tallies: Links, by attacker, source, modal and unique (`TALLIES`), with user-defined passes
            by pass, too (`TALLIES_BY_PASS`). ``expected`` is the mean number that a proportional
            guesser confirms; null for other sources.
        agreement: Records that agree, by pair of files (`AGREEMENT`).
        truth: One row per unit: ``population, linkable, nonmodal, unique_people,
            unique_nonmodal, unique_defined``, and for how many people the guessers are right on
            average about their own origin.
        left_out: ``file: reason`` → records that take no part.
        modes: Origin of the modal guess (`MODES_OF`) → number of units of the baseline.
    """

    targets: pl.DataFrame
    tallies: pl.DataFrame
    agreement: pl.DataFrame
    truth: pl.DataFrame
    left_out: Mapping[str, int]
    modes: Mapping[str, int]


@dataclass
class PartitionLinkage:
    """The linkage of one partition.

    Attributes:
        records: Origin → its records, as its file has them.
        margins: For guessers from published tables.
        left_out: Grows as files are read.
    """

    spec: LinkageSpecification
    records: Mapping[str, pl.DataFrame]
    files: Mapping[str, pl.DataFrame]
    margins: PublishedMargins | None = None
    left_out: dict[str, int] = field(default_factory=dict)
    _values: dict[str, ValueCounts] = field(default_factory=dict)

    def run(self, on_links: OnLinks = lambda _links: None) -> LinkageCounts:
        """Link everything.

        Args:
            on_links: Gets the links of each attacker and source: ``attacker, source``, the id, the
                geoid, the linking and gained columns, ``pass``, ``confirmed``.

        Raises:
            SourceError: A file lacks a column or holds a value that the schema does not know.
        """
        attackers = {name: self._attacker(name) for name in self.spec.attackers}
        targets = [
            people.group_by("unit", *GROUPS)
            .agg(records=pl.len())
            .with_columns(attacker=pl.lit(name))
            for name, people in attackers.items()
        ]
        tallies: list[pl.DataFrame] = []
        held = {}
        for origin in self.spec.used:
            people = self._people(origin)
            if origin == self.spec.baseline:
                self._value_counts(origin, people)
            if any(origin in pair for pair in self.spec.comparisons):
                held[origin] = people
            if attackers:
                tallies += self._link(origin, people, attackers, on_links)
        agreements = [
            count_agreement(held[a], held[b], self.encoder.near).with_columns(
                left=pl.lit(a), right=pl.lit(b)
            )
            for a, b in self.spec.comparisons
        ]
        return LinkageCounts(
            self._by_geoid(targets, TARGETS),
            self._by_geoid(tallies, TALLIES_BY_PASS if self.spec.own_passes else TALLIES),
            self._by_geoid(agreements, AGREEMENT),
            self._units(),
            dict(self.left_out),
            self._value_counts(self.spec.baseline).units_by_mode,
        )

    @property
    def no_links(self) -> pl.DataFrame:
        spec = self.spec
        columns = dict.fromkeys((*spec.keys.exact, *spec.keys.binned, *spec.keys.gains))
        schema: _Schema = {
            "attacker": pl.String,
            "source": pl.String,
            spec.id: pl.String,
            spec.release.geoid_column: pl.String,
            **{name: spec.release.column_groups(name).dtype for name in columns},
            "pass": pl.String,
            "confirmed": pl.Boolean,
            **dict.fromkeys(self._same_unit, pl.Boolean),
        }
        return pl.DataFrame(schema=schema)

    @cached_property
    def encoder(self) -> KeyEncoder:
        """Return the encoder for the geounits where the truth has people."""
        spec = self.spec
        raw, column = self.records[spec.truth], spec.release.geoid_column
        require(raw, (column,), spec.truth)
        return KeyEncoder(
            spec.release,
            spec.keys,
            raw[column].cast(pl.String).drop_nulls().unique().sort(),
            spec.passes,
        )

    @cached_property
    def truth(self) -> pl.DataFrame:
        """Return everybody: ``unit, exact, binned, gain, modal, unique, order``, id and flags."""
        spec, raw = self.spec, self.records[self.spec.truth]
        keep = self._id_columns(raw, spec.truth) if spec.attackers else []
        if spec.data_defined is not None:
            keep.append(spec.data_defined)
        encoded = self.encoder.encode(raw, name=spec.truth, keep=keep)
        if missing := sum(encoded.left_out.values()):
            needed = ", ".join((*spec.keys.binned, *spec.keys.gains))
            raise SourceError(
                f"{spec.truth}: {missing:,} records lack a geoid or one of {needed}; "
                "the truth must be complete"
            )
        people = self._in_order(encoded.records, "truth")
        modal = is_modal(self._value_counts(spec.truth, people), people)
        return people.with_columns(modal, unique_on(people, "binned"))

    @property
    def defined(self) -> pl.DataFrame:
        """Return the truth's data-defined records; all, if it has no such flag."""
        flag = self.spec.data_defined
        return self.truth if flag is None else self.truth.filter(is_set(flag))

    @cached_property
    def linkable(self) -> pl.DataFrame:
        """Return the truth's records that can be linked: data-defined, one for each id."""
        name, people = self.spec.truth, self.defined
        self._leave_out(name, {"not data-defined": self.truth.height - people.height})
        deduped = one_per_id(people)
        self._leave_out(name, deduped.left_out)
        return deduped.records

    def _attacker(self, name: str) -> pl.DataFrame:
        """Read an attacker file, one record for each id in a unit, with the truth about them."""
        if name in self.spec.from_truth:
            columns = [*self._key_columns, "id", "order"]
            return attach_truth(self.linkable.select(columns), self.linkable, self.encoder)
        raw = self.files[name]
        keep = self._id_columns(raw, name)
        encoded = self.encoder.encode(raw, name=name, gains=False, keep=keep)
        self._leave_out(name, encoded.left_out)
        deduped = one_per_id(self._in_order(encoded.records, f"attacker {name}"))
        self._leave_out(name, deduped.left_out)
        return attach_truth(deduped.records, self.linkable, self.encoder)

    def _people(self, origin: str) -> pl.DataFrame:
        """Read a source's records: the keys, ``order`` and, except for `TABLES`, ``gain``."""
        near = self.encoder.near
        with_gains = [*(() if near is None else near.key_columns), "gain"]
        columns = [*self._key_columns, *([] if origin == TABLES else with_gains)]
        if origin == self.spec.truth:
            people = self.truth
        else:
            from_tables = origin == TABLES
            raw = self._margins().records if from_tables else self.records[origin]
            encoded = self.encoder.encode(raw, name=origin, gains=not from_tables)
            self._leave_out(origin, encoded.left_out)
            people = encoded.records
        # unlike the truth's order as an attacker, or everybody would be paired with themselves
        return self._in_order(people.select(columns), f"source {origin}")

    def _link(
        self,
        origin: str,
        people: pl.DataFrame,
        attackers: Mapping[str, pl.DataFrame],
        on_links: OnLinks,
    ) -> Iterator[pl.DataFrame]:
        """Link all sources that share the records of ``origin``: it and its guessers."""
        guessers = [each for each in self.spec.guessers if each.origin == origin]
        gains = {guesser.name: self._guess(guesser, people) for guesser in guessers}
        if origin != TABLES:
            gains = {origin: people["gain"], **gains}
        drawn = {g.name for g in guessers if g.kind == "proportional" and not g.leave_one_out}
        for attacker, targets in attackers.items():
            pairs = putative_links(people, targets, self.spec.passes)
            known = {name: gain.gather(pairs["source"]) for name, gain in gains.items()}
            if self.spec.looks_beyond_units:
                for each in guessers:
                    known[each.name] = self._guess_away(each, known[each.name], pairs, targets)
            for source, gain in known.items():
                links = gained_values(pairs, gain, targets, self.spec.passes)
                in_unit = people["unit"].gather(pairs["source"]) == links["true_unit"]
                links = links.with_columns((links["confirmed"] & in_unit).alias("same_unit"))
                if source in drawn:
                    chance = chance_of(self._value_counts(origin, people).lent, links)
                    links = links.with_columns(chance.alias("chance"))
                names = {"attacker": pl.lit(attacker), "source": pl.lit(source)}
                if not self.spec.own_passes:
                    counted = count_links(links)
                elif source == origin:
                    chances = confirmed_chances(pairs, people, targets, self.spec.passes)
                    counted = count_links_by_pass(self._beside(links), chances, targets)
                else:
                    counted = count_links_by_pass(self._beside(links), NO_CHANCES, targets)
                yield counted.with_columns(**names)
                on_links(
                    self._decoded(links).select(*(e.alias(n) for n, e in names.items()), pl.all())
                )

    def _guess_away(
        self, guesser: Guesser, guess: pl.Series, pairs: pl.DataFrame, attackers: pl.DataFrame
    ) -> pl.Series:
        """Return a guesser's gains of pairs; across units it guesses from the attacker's unit."""
        values = self._value_counts(guesser.origin).lent
        if guesser.kind == "modal":
            by_attacker = modal_guess(values, attackers, leave_one_out=False)
        else:
            purpose, seed = f"guess {guesser.name} away", self.spec.seed
            by_attacker = proportional_guess(values, attackers, seed, purpose, leave_one_out=False)
        unit = self.spec.release.geography.unit
        away = [each.name for each in self.spec.passes if each.place != unit]
        is_away = pairs["pass"].cast(pl.String).is_in(away)
        return by_attacker.gather(pairs["attacker"]).zip_with(is_away, guess)

    def _beside(self, links: pl.DataFrame) -> pl.DataFrame:
        """Add the chance that each usual guesser is right about each link."""
        modal, proportional = self.spec.beside
        right = {"modal_confirmed": pl.lit(None), "proportional_confirmed": pl.lit(None)}
        if modal is not None:
            modes = pl.Series(self._value_counts(modal.origin).modes).gather(links["unit"])
            is_right = (links["true_gain"] == modes).fill_null(value=False)
            right["modal_confirmed"] = pl.lit(is_right)
        if proportional is not None:
            chance = chance_of(self._value_counts(proportional.origin).lent, links)
            right["proportional_confirmed"] = pl.lit(chance)
        return links.with_columns(each.cast(pl.Float64).alias(n) for n, each in right.items())

    def _guess(self, guesser: Guesser, people: pl.DataFrame) -> pl.Series:
        values, without = self._value_counts(guesser.origin, people), guesser.leave_one_out
        if guesser.kind == "modal":
            return modal_guess(values, people, leave_one_out=without)
        purpose = f"guess {guesser.name}"
        return proportional_guess(values, people, self.spec.seed, purpose, leave_one_out=without)

    def _value_counts(self, origin: str, people: pl.DataFrame | None = None) -> ValueCounts:
        """Count each gained value in an origin, by unit; with its people if they were read."""
        if origin not in self._values:
            if origin == TABLES:
                counts = self._published()
            else:
                people = self._people(origin) if people is None else people
                counts = people.group_by("unit", "gain").agg(pl.len().alias("n"))
            self._values[origin] = ValueCounts.of(
                counts,
                self.encoder.geoids,
                parent_level(self.spec.release),
                self.spec.modes[origin],
            )
        return self._values[origin]

    def _margins(self) -> PublishedMargins:
        if self.margins is None:
            raise SourceError("guessers from tables need the published counts")
        return self.margins

    def _published(self) -> pl.DataFrame:
        margin = self._margins().gains
        unit = self.encoder.units(margin, TABLES)
        gain = self.encoder.pack(margin, self.spec.keys.gains, TABLES)
        counts = pl.DataFrame([unit.alias("unit"), gain.alias("gain"), margin["n"]])
        return counts.drop_nulls("unit")

    def _decoded(self, links: pl.DataFrame) -> pl.DataFrame:
        """Decode links to the columns of the release."""
        spec, encoder = self.spec, self.encoder
        columns = [
            links["id"].alias(spec.id),
            encoder.geoids.gather(links["unit"]).alias(spec.release.geoid_column),
        ]
        keys = spec.keys
        for number, names in (("exact", keys.exact), ("binned", keys.binned), ("gain", keys.gains)):
            shown = {column.name for column in columns}
            unpacked = encoder.unpack(links[number], names)
            columns += [column for column in unpacked if column.name not in shown]
        same = [links["same_unit"].alias(name) for name in self._same_unit]
        return pl.DataFrame([*columns, links["pass"].cast(pl.String), links["confirmed"], *same])

    @property
    def _key_columns(self) -> list[str]:
        own = (column for each in self.spec.own_passes for column in each.key_columns)
        return ["unit", "exact", "binned", *own]

    @property
    def _same_unit(self) -> list[str]:
        """Return the link column that marks equal units, if passes look beyond the unit."""
        unit = self.spec.release.geography.unit
        return [f"same_{unit.name}"] if self.spec.looks_beyond_units else []

    def _units(self) -> pl.DataFrame:
        """Return every unit's people and closed forms (`LinkageCounts.truth`)."""
        unique, nonmodal = pl.col("unique"), ~pl.col("modal")
        units = self.truth.group_by("unit").agg(
            pl.len().cast(pl.Int32).alias("population"),
            nonmodal.sum().cast(pl.Int32).alias("nonmodal"),
            unique.sum().cast(pl.Int32).alias("unique_people"),
            (unique & nonmodal).sum().cast(pl.Int32).alias("unique_nonmodal"),
        )
        has_ids = bool(self.spec.attackers)
        defined = (self.linkable if has_ids else self.defined).group_by("unit")
        counted = defined.agg(
            (pl.len() if has_ids else pl.lit(0)).cast(pl.Int32).alias("linkable"),
            # alone among everybody, as the study's Table 7 has it
            unique.sum().cast(pl.Int32).alias("unique_defined"),
        )
        units = units.join(counted, on="unit", how="left")
        correct = expected_correct(self._values[self.spec.baseline])
        units = units.join(correct, on="unit", how="left").fill_null(0)
        return self._by_geoid([units], {name: units.schema[name] for name in units.columns[1:]})

    def _by_geoid(
        self, frames: Sequence[pl.DataFrame], schema: Mapping[str, pl.DataType | type[pl.DataType]]
    ) -> pl.DataFrame:
        """Combine frames by unit into one frame by geoid, sorted."""
        column = self.spec.release.geoid_column
        if not frames:
            return pl.DataFrame(schema={column: pl.String, **schema})
        whole = pl.concat([frame.select("unit", *schema) for frame in frames])
        geoids = self.encoder.geoids.gather(whole["unit"]).alias(column)
        named = pl.DataFrame([geoids, *whole.select(*schema).cast(pl.Schema(schema))])
        return named.sort(column, *schema)

    def _in_order(self, records: pl.DataFrame, purpose: str) -> pl.DataFrame:
        if self.spec.id in records.columns:
            records = records.rename({self.spec.id: "id"}).cast({"id": pl.String})
        return with_order(self.encoder, records, self.spec.seed, purpose)

    def _id_columns(self, raw: pl.DataFrame, name: str) -> list[str]:
        require(raw, (self.spec.id,), name)
        return [self.spec.id, *(flag for flag in FLAGS if flag in raw.columns)]

    def _leave_out(self, name: str, counts: Mapping[str, int]) -> None:
        self.left_out.update({f"{name}: {why}": n for why, n in counts.items() if n})
