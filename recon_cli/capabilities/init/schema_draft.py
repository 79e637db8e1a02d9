"""A release schema drafted from a table, as YAML with comments, and what could not be told."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
import yaml

from recon_cli.capabilities.init.axes import Axis, Grid, Node, slug
from recon_cli.sources.formats.vocabulary import Interval

#: Length of a geoid of the US census → level.
_CENSUS_LEVELS: Final = {15: "block", 12: "block_group", 11: "tract", 5: "county", 2: "state"}
#: Files are split by the coarsest level, or by fewer characters if it has more places than that.
_MOST_PARTITIONS: Final = 200
_OLDEST: Final = 110


@dataclass(frozen=True)
class TableDraft:
    """A table.

    Attributes:
        code: Pattern of its cell codes.
        features: Feature → its lines of YAML below ``features``.
        recodes: Recode → its form.
        questions: What has to be answered.
        lengths: Of the geoids of its places; those of all places if empty.
        title: Of its sheet; may be empty.
    """

    name: str
    code: str
    features: dict[str, object]
    recodes: dict[str, object]
    cells: list[object]
    doubts: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    lengths: frozenset[int] = frozenset()
    title: str = ""


def crossed_table(name: str, code: str, grid: Grid) -> TableDraft:
    """A table of combinations of some axes."""
    features: dict[str, object] = {}
    recodes: dict[str, object] = {}
    groups: list[tuple[str, bool]] = []
    has_rest = False
    values_of: list[dict[str, list[str]]] = []
    for axis in grid.axes:
        values, unions = _categories(axis)
        rest = [axis.rest] if axis.rest else []
        features[axis.name] = {"categories": [*values, *rest]}
        by = axis.name
        if unions:
            by = f"{axis.name}_groups"
            recodes[by] = {"of": axis.name, "groups": unions}
        groups.append((by, axis.has_total))
        has_rest = has_rest or bool(rest)
        own = unions.values() if unions else ([value] for value in values)
        values_of.append(dict(zip(axis.labels, own, strict=True)))
    everybody = (None,) * len(grid.axes)
    whole = Grid.full(grid.axes).cells
    cells: list[object]
    if has_rest:
        cells = [_where(grid.axes, values_of, cell) for cell in grid.cells]
    elif grid.cells == whole:
        cells = _crossed(groups)
    elif grid.cells == (everybody, *whole):
        cells = ["total", *_crossed(groups)]
    else:
        cells = [_where(grid.axes, values_of, cell) for cell in grid.cells]
    return TableDraft(name, code, features, recodes, cells, _axis_doubts(grid))


def _where(
    axes: Sequence[Axis], values_of: Sequence[Mapping[str, list[str]]], cell: tuple[str | None, ...]
) -> object:
    """One cell for itself."""
    chosen = {
        axis.name: own if len(own := values[label]) > 1 else own[0]
        for axis, values, label in zip(axes, values_of, cell, strict=True)
        if label is not None
    }
    return {"where": chosen} if chosen else "total"


def _crossed(groups: Sequence[tuple[str, bool]]) -> list[object]:
    if not groups:
        return ["total"]
    (by, has_total), *rest = groups
    inner = _crossed(rest)
    nested: dict[str, object] = {"by": by} if inner == ["total"] else {"by": by, "cells": inner}
    return [*inner, nested] if has_total else [nested]


def _categories(axis: Axis) -> tuple[list[str], dict[str, list[str]]]:
    """Values that do not overlap, and the groups that the categories are of them, if they do."""
    if axis.intervals is None:
        return [slug(label) for label in axis.labels], {}
    ends = {1 + (_OLDEST if high is None else high) for _, high in axis.intervals}
    cuts = sorted({low for low, _ in axis.intervals} | ends)
    spans = [(low, high - 1) for low, high in itertools.pairwise(cuts)]
    pieces = [
        (low, None if high >= _OLDEST else high)
        for low, high in spans
        if any(_holds(each, low) for each in axis.intervals)
    ]
    names = [_span(each) for each in pieces]
    if set(pieces) == set(axis.intervals):
        return [_span(each) for each in axis.intervals], {}
    groups = {
        _span(each): [
            name for name, piece in zip(names, pieces, strict=True) if _holds(each, piece[0])
        ]
        for each in axis.intervals
    }
    return names, groups


def _holds(each: Interval, age: int) -> bool:
    return each[0] <= age and (each[1] is None or age <= each[1])


def _span(each: Interval) -> str:
    low, high = each
    if high is None:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def _axis_doubts(grid: Grid) -> tuple[str, ...]:
    doubts = [
        f"the name of {axis.name}, which the labels do not have"
        for axis in grid.axes
        if axis.is_nameless
    ]
    doubts += [
        f"whether somebody is in none or several of {axis.name}'s categories; as there is no "
        "total, everybody is taken to be in one"
        for axis in grid.axes
        if not axis.has_total and not grid.has_everybody
    ]
    return tuple(doubts)


def tree_table(name: str, code: str, nodes: Sequence[Node]) -> TableDraft:
    """A table whose labels are a tree: one feature, whose values are the leaves."""
    leaves = [i for i, node in enumerate(nodes) if node.leaves == (i,)]
    names = _leaf_names(nodes, leaves)
    feature = f"{slug(name)}_category"
    cells: list[object] = []
    for node in nodes:
        own = [names[i] for i in node.leaves]
        if len(own) == len(leaves):
            cells.append("total")
        else:
            cells.append({"where": {feature: own if len(own) > 1 else own[0]}})
    doubt = (
        f"table {name}: its labels are taken as a tree, one feature with {len(leaves)} values; "
        "if they are several features crossed, describe them as such, or the counts that other "
        "tables share with it are not seen to be shared"
    )
    values = {"categories": [names[i] for i in leaves]}
    return TableDraft(name, code, {feature: values}, {}, cells, (doubt,))


def _leaf_names(nodes: Sequence[Node], leaves: Sequence[int]) -> dict[int, str]:
    """The last word of each leaf; with the word above where several leaves have it."""
    names = {i: slug(nodes[i].path[-1]) or f"cell_{i + 1}" for i in leaves}
    often = {name for name in names.values() if list(names.values()).count(name) > 1}
    for i, name in names.items():
        if name in often:
            names[i] = f"{slug('_'.join(nodes[i].path[-2:]))}_{i + 1}"
    return names


def draft_schema(
    release: str,
    title: str,
    tables: Sequence[TableDraft],
    geoids: pl.Series,
    names: Mapping[int, str],
    *,
    census: bool,
) -> tuple[str, tuple[str, ...]]:
    """A schema for some tables, as YAML, and what could not be told, a sentence each.

    Args:
        names: Length of a geoid → its level, as far as that is known.
        census: Whether geoids are those of the US census.
    """
    levels, partition, doubts = _geography(
        geoids, _CENSUS_LEVELS if census else names, census=census
    )
    if len(tables) > 1:
        shown = ", ".join(table.name for table in tables)
        doubts = (*doubts, f"whether {shown} count the same people: give each its universe")
    said = tuple(dict.fromkeys([*(each for table in tables for each in table.doubts), *doubts]))
    features = {name: form for table in tables for name, form in table.features.items()}
    recodes = {name: form for table in tables for name, form in table.recodes.items()}
    lengths = set(geoids.str.len_chars())
    published = [(name, digits) for name, digits in levels if digits in lengths]
    lines = [
        f"# Drafted from {title}. Check it: a wrong schema gives wrong answers.",
        *(f"# Could not be told: {doubt}." for doubt in said),
        f"release: {flow(release)}",
        f"title: {flow(title)}",
        "",
        "features:            # what a record says of a person",
        *(f"  {name}: {flow(form)}" for name, form in features.items()),
        "",
    ]
    if recodes:
        lines += ["recodes:             # groups of their values"]
        lines += [f"  {name}: {flow(form)}" for name, form in recodes.items()] + [""]
    lines += [
        "geography:           # finest first; a geoid starts with its parent's",
        "  levels:",
        *(f"    - {{level: {name}, digits: {digits}}}" for name, digits in levels),
        f"  partition: {partition}",
        "",
        f"microdata: [{', '.join(features)}]",
        f"histogram: [{', '.join(features)}]",
        "",
        "families:            # `recon data releases FILE` shows the cells that patterns write out",
        *_families(tables, published),
    ]
    return "\n".join(lines) + "\n", said


def _families(tables: Sequence[TableDraft], levels: Sequence[tuple[str, int]]) -> Iterator[str]:
    for table in tables:
        own = [name for name, digits in levels if digits in (table.lengths or {digits})]
        yield f"  - levels: [{', '.join(own)}]"
        yield "    cells:"
        yield from (f"      - {flow(cell)}" for cell in table.cells)
        title = f"title: {flow(table.title)}, " if table.title else ""
        yield f"    tables: {{{table.name}: {{{title}code: {table.code!r}}}}}"


def _geography(
    geoids: pl.Series, names: Mapping[int, str], *, census: bool
) -> tuple[list[tuple[str, int]], str, tuple[str, ...]]:
    """Name and length of each level, the partition, and doubts."""
    lengths = sorted(set(geoids.str.len_chars()), reverse=True)
    levels = [(names.get(digits, f"level_{digits}"), digits) for digits in lengths]
    doubts = [] if set(lengths) <= set(names) else ["the names of the geographic levels"]
    for (_, fine), (name, coarse) in itertools.pairwise(levels):
        parents = geoids.filter(geoids.str.len_chars() == coarse)
        children = geoids.filter(geoids.str.len_chars() == fine)
        lost = children.filter(~children.str.slice(0, coarse).is_in(parents.implode()))
        if len(lost):
            doubts.append(
                f"where {len(lost)} places with geoids of {fine} characters belong ({lost[0]} "
                f"starts with no geoid of {name})"
            )
    coarsest = lengths[-1]
    split = next(
        (
            digits
            for digits in (coarsest, *((5, 2) if census else range(coarsest - 1, 0, -1)))
            if digits <= coarsest and geoids.str.slice(0, digits).n_unique() <= _MOST_PARTITIONS
        ),
        1,
    )
    if census and coarsest > 5 and geoids.str.slice(0, 5).n_unique() <= _MOST_PARTITIONS:
        split = 5
    if split != coarsest:
        levels.append((names.get(split, f"first_{split}"), split))
    return levels, levels[-1][0], tuple(doubts)


def flow(value: object) -> str:
    """A value as YAML on one line."""
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, width=10**6, sort_keys=False
    )
    return str(text).removesuffix("...\n").strip()
