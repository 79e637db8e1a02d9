"""The tables of statistics of a drafted schema, and the features that they summarise."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from recon_cli.capabilities.init.conditions import Condition, Key, cell_of, key_of, values_of
from recon_cli.capabilities.init.schema_draft import TableDraft
from recon_cli.capabilities.init.statistic_columns import FoundColumn
from recon_cli.capabilities.init.statistic_draft import DraftedShare, Scale


@dataclass
class StatisticTable:
    """A table of statistics under construction.

    Attributes:
        columns: The columns of sheets that print it.
        taken: Places and people with a statistic in the table.
    """

    name: str
    columns: list[FoundColumn] = field(default_factory=list)
    taken: set[tuple[Hashable, Key]] = field(default_factory=set)

    @property
    def mapping(self) -> dict[str, dict[str, str]]:
        """Return the keys of ``mapping.statistics``."""
        return {each.header: {"table": self.name, "of": each.statistic.of} for each in self.columns}

    @property
    def marks(self) -> tuple[str, ...]:
        """Return the texts in place of its numbers."""
        return tuple(dict.fromkeys(mark for each in self.columns for mark in each.marks))

    @property
    def conditions(self) -> list[Condition]:
        """Return the people of each of its cells."""
        every = [each for column in self.columns for each in column.conditions]
        return list({key_of(each): each for each in every}.values())

    @property
    def scale(self) -> Scale | None:
        """Return the scale of groups that are counted; None where single values are counted."""
        first = self.columns[0]
        return None if first.ends is None else first.scale


def statistic_tables(found: Sequence[FoundColumn]) -> list[StatisticTable]:
    """Put columns of one statistic in one table, unless a place would have two for some people."""
    tables: list[StatisticTable] = []
    for column in found:
        told, stem = replace(column.statistic, of=""), column.statistic.name
        same = [each for each in tables if replace(each.columns[0].statistic, of="") == told]
        home = next((each for each in same if each.taken.isdisjoint(column.cells)), None)
        if home is None or (column.header in home.mapping and not _is_mapped(home, column)):
            number = sum(each.name.startswith(stem) for each in tables) + 1
            home = StatisticTable(stem if number == 1 else f"{stem}_{number}")
            tables.append(home)
        home.columns.append(column)
        home.taken.update(column.cells)
    return tables


def _is_mapped(home: StatisticTable, column: FoundColumn) -> bool:
    return home.mapping[column.header]["of"] == column.statistic.of


def with_statistics(
    tables: Sequence[TableDraft], found: Sequence[StatisticTable], features: Mapping[str, object]
) -> list[TableDraft]:
    """Return the tables of a schema, followed by tables of statistics.

    A feature whose values are groups of numbers becomes a recode of these numbers.

    Args:
        features: Feature → its form.
    """
    values = _values(found)
    grouped = {own.scale.name: own for own in values.values() if own.scale is not None}

    def shown(table: TableDraft) -> TableDraft:
        used = {name: grouped[name] for name in table.features if name in grouped}
        own = {
            (used[name].name if name in used else name): (used[name].form if name in used else form)
            for name, form in table.features.items()
        }
        return replace(
            table,
            features=own,
            cells=[_with_values(cell, used) for cell in table.cells],
            recodes={**table.recodes, **{name: each.recode for name, each in used.items()}},
        )

    added = []
    for each in found:
        statistic = each.columns[0].statistic
        used = dict.fromkeys(name for condition in each.conditions for name in condition)
        if isinstance(statistic, DraftedShare):
            own = None
            part = _in_values(values_of(dict(statistic.part)), grouped)
            form = statistic.form(part)
            used |= dict.fromkeys(name for name, _ in statistic.part)
        else:
            own = values.get(statistic.feature)
            form = {**statistic.form, statistic.kind: own.name if own else statistic.feature}
        draft = TableDraft(
            each.name,
            "",
            {name: features[name] for name in used},
            {},
            [cell_of(condition) for condition in each.conditions],
            statistic=form,
        )
        draft = shown(draft)
        if own is not None:
            draft = replace(draft, features={**draft.features, own.name: own.form})
        added.append(draft)
    return [*map(shown, tables), *added]


@dataclass(frozen=True)
class _Values:
    """A feature of whole numbers: the values of a scale, or those that a user says.

    Attributes:
        scale: The groups of these numbers that are counted, if any.
    """

    name: str
    least: int
    greatest: int
    scale: Scale | None

    @property
    def form(self) -> dict[str, str]:
        """Return the form of the feature in a schema."""
        return {"range": f"{self.least}..{self.greatest}"}

    @property
    def groups(self) -> dict[str, object]:
        """Map the groups of the scale to their values, as a schema writes them."""
        found: dict[str, object] = {}
        for key, (low, high) in () if self.scale is None else self.scale.groups:
            last = self.greatest if high is None else high
            found[key] = low if low == last else f"{low}..{last}"
        return found

    @property
    def recode(self) -> dict[str, object]:
        """Return the groups as a recode."""
        return {"of": self.name, "groups": self.groups}


def _with_values(cell: object, used: Mapping[str, _Values]) -> object:
    """Return a cell with features of numbers in place of features of groups."""
    where = cell.get("where") if isinstance(cell, Mapping) else None
    return {"where": _in_values(where, used)} if isinstance(where, Mapping) else cell


def _in_values(where: Mapping[Any, Any], used: Mapping[str, _Values]) -> dict[str, object]:
    """Return values of features with numbers in place of groups."""
    found: dict[str, object] = {}
    for name, value in where.items():
        if name not in used:
            found[name] = value
            continue
        groups = [used[name].groups[key] for key in (value if isinstance(value, list) else [value])]
        found[used[name].name] = groups[0] if len(groups) == 1 else groups
    return found


def _values(found: Sequence[StatisticTable]) -> dict[str, _Values]:
    """Map the features of statistics whose values are not themselves categories to these values."""
    values: dict[str, _Values] = {}
    for each in found:
        for column in each.columns:
            statistic, scale = column.statistic, each.scale
            if column.ends is None or isinstance(statistic, DraftedShare):
                continue
            name = statistic.feature
            called = name if scale is None else f"single_{name}"
            least, greatest = column.ends
            known = values.get(name)
            if known is not None:
                least, greatest = min(least, known.least), max(greatest, known.greatest)
            values[name] = _Values(called, least, greatest, scale)
    return values


def taken_values(found: Sequence[StatisticTable]) -> Iterator[str]:
    """Yield doubts about greatest values that are assumed, though no number states them."""
    for own in _values(found).values():
        if own.scale is not None and own.scale.greatest is None:
            yield (
                f"the greatest {own.scale.name}: {own.greatest} is taken; medians, minima and "
                "maxima prove the same with any beyond those printed, means do not"
            )
