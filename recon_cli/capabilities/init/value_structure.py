"""Find the features of the values of a dimension of a long table, by their sums and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from recon_cli.capabilities.init.label_words import are_apart
from recon_cli.capabilities.init.line_features import DraftedFeature
from recon_cli.capabilities.init.proposal.proposed_table import ProposedTable
from recon_cli.capabilities.init.proposal.relation import Axis, Relation
from recon_cli.capabilities.init.proposal.said_sums import open_sums, sums_of_values
from recon_cli.capabilities.init.said import Said
from recon_cli.capabilities.init.spans import do_overlap
from recon_cli.capabilities.init.structure import Structure
from recon_cli.sources.formats.vocabulary import interval, is_total
from recon_cli.sources.read.words import Sense, says


def structure_of_values(table: ProposedTable, at: int) -> Structure:
    """Return the structure of the values of a dimension, whose lines are the values' positions.

    Args:
        at: The column of the dimension.
    """
    values, lines = table.grid.coded((table.region.body, at))
    place = {value: i for i, value in enumerate(values)}
    sums = [
        Relation(
            Axis.ROWS,
            place[each.total],
            tuple(place[value] for value in each.parts),
            each.support,
        )
        for each in table.values
        if each.dimension == at and each.support.is_strong
    ]
    structure = Structure.of(
        {i: (v,) for v, i in place.items()},
        sums,
        table.numbers_of(lines, [at]),
        said=_said_of_values(table, at, place),
        base=table.relations.base,
    )
    structure = _with_total(structure, values)
    return _named(structure, table.headers[at][-1] if table.headers[at] else "")


def _said_of_values(table: ProposedTable, at: int, place: Mapping[str, int]) -> Said:
    """Return what the user says of values, and which values exclude each other.

    The values of a column without a total are one classification, except those that words call
    some of others; beside a total they may be a selection, and several may be of one person.
    """

    def lines_of(names: Sequence[str]) -> list[int]:
        return [place[name] for name in names if name in place]

    within = open_sums(sums_of_values(table.said_sums), lines_of)
    counted = {*lines_of(table.counted_values)}
    inner = counted | {line for _, *parts in within for line in parts}
    others = {v: i for v, i in place.items() if i not in inner and not says(v, Sense.OF_WHICH)}
    parts = [value for value in others if not is_total(value)]
    spans = [span for value in parts if (span := interval(value)) is not None]
    is_one = len(parts) == len(others) or at in table.said_apart or are_apart(parts)
    apart = {*lines_of(table.apart_values)}
    if is_one and not do_overlap(spans):
        apart |= {others[value] for value in parts}
    return Said(frozenset(counted), frozenset(apart - counted), tuple(within))


def _with_total(structure: Structure, values: Sequence[str]) -> Structure:
    """Let a value that is called a total count everybody, where no sum shows it.

    Other people may then have none of the values.
    """
    totals = [i for i, value in enumerate(values) if is_total(value)]
    (feature, *more) = structure.features or (None,)
    if feature is None or more or feature.has_total or len(totals) != 1:
        return structure
    others = [i for i in range(len(values)) if i not in totals]
    rest = f"not {values[others[0]]}" if len(others) == 1 else "other"
    told = DraftedFeature(feature.name, tuple(values[i] for i in others), rest)
    counted = {i: {0: frozenset((at,))} for at, i in enumerate(others)}
    return replace(structure, features=(told,), values={totals[0]: {}, **counted})


def _named(structure: Structure, header: str) -> Structure:
    """Name the feature of a dimension after its header."""
    features = tuple(
        each if i or not header else replace(each, name=header)
        for i, each in enumerate(structure.features)
    )
    return replace(structure, features=features)
