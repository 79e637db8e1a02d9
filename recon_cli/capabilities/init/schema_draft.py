"""A release schema drafted from a table, as YAML with comments, and its doubts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl
import yaml

#: Length of a geoid of the US census → level.
_CENSUS_LEVELS: Final = {15: "block", 12: "block_group", 11: "tract", 5: "county", 2: "state"}
#: Most places of the coarsest level by which files are split, else by fewer characters.
_MOST_PARTITIONS: Final = 200


@dataclass(frozen=True)
class TableDraft:
    """A table of a drafted schema.

    Attributes:
        code: Pattern of its cell codes.
        features: Feature → its lines of YAML below ``features``.
        recodes: Recode → its form.
        questions: What has to be answered.
        lengths: Lengths of the geoids of its places; those of all places if empty.
        title: Title of its sheet; may be empty.
        statistic: The form of the statistic that it prints of each cell, in place of a count.
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
    statistic: Mapping[str, object] | None = None


#: Texts that YAML writes without quotes, except for its reserved words.
_PLAIN: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*( [A-Za-z0-9_]+)*")
_RESERVED: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))


def draft_schema(
    release: str,
    title: str,
    tables: Sequence[TableDraft],
    geoids: pl.Series,
    names: Mapping[int, str],
    *,
    files: str,
    census: bool,
) -> tuple[str, tuple[str, ...]]:
    """Return a schema for some tables, as YAML, and doubts, a sentence each.

    Args:
        names: Length of a geoid → its level, as far as known.
        files: The names of the files.
        census: Whether geoids are those of the US census.
    """
    levels, partition, doubts = _geography(
        geoids, _CENSUS_LEVELS if census else names, census=census
    )
    said = tuple(dict.fromkeys([*(each for table in tables for each in table.doubts), *doubts]))
    features = {name: form for table in tables for name, form in table.features.items()}
    recodes = {name: form for table in tables for name, form in table.recodes.items()}
    lengths = set(geoids.str.len_chars())
    published = [(name, digits) for name, digits in levels if digits in lengths]
    lines = [
        f"# Drafted from {files}. Check it: a wrong schema gives wrong answers.",
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
        f"microdata: [{', '.join((*features, *recodes))}]",
        f"histogram: [{', '.join(_told_apart(tables))}]",
        "",
        "families:            # `recon data releases FILE` shows the cells that patterns write out",
        *_families(tables, published),
    ]
    return "\n".join(lines) + "\n", said


def _told_apart(tables: Sequence[TableDraft]) -> list[str]:
    """Return the features that counts tell apart; recodes in place of features with groups."""
    counts = [table for table in tables if table.statistic is None]
    groups = {
        str(form["of"]): name
        for table in counts
        for name, form in table.recodes.items()
        if isinstance(form, dict)
    }
    features = dict.fromkeys(name for table in counts for name in table.features)
    return [groups.get(name, name) for name in features]


def _families(tables: Sequence[TableDraft], levels: Sequence[tuple[str, int]]) -> Iterator[str]:
    for table in tables:
        own = [name for name, digits in levels if digits in (table.lengths or {digits})]
        yield f"  - levels: [{', '.join(own)}]"
        yield "    cells:"
        yield from (f"      - {flow(cell)}" for cell in table.cells)
        title = f"title: {flow(table.title)}, " if table.title else ""
        what = f"code: {table.code!r}"
        if table.statistic is not None:
            what = f"statistic: {flow(table.statistic)}"
        yield f"    tables: {{{table.name}: {{{title}{what}}}}}"


def _geography(
    geoids: pl.Series, names: Mapping[int, str], *, census: bool
) -> tuple[list[tuple[str, int]], str, tuple[str, ...]]:
    """Return the name and length of each level, the partition, and doubts."""
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
    """Return a value as YAML on one line."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _RESERVED:
        return value  # thousands of places: what YAML says of them takes longer than reading them
    text = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, width=10**6, sort_keys=False
    )
    return str(text).removesuffix("...\n").strip()
