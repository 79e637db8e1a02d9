"""What the study published of its blocks, made from the synthetic nation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

import recon_cli as recon
from recon_cli.capabilities.synth.county import generate_county
from recon_cli.capabilities.synth.geography import plan_nation
from recon_cli.capabilities.synth.parameters import load_nation
from recon_cli.publication import Publication
from recon_cli.schema import Cell, Release, Table, load_release

#: Households of a block, and how many blocks are drawn.
TEN = 10


def study_release() -> Release:
    """The leaf cells of the 2020 tables that the study asked, over its ten columns.

    P21 and H15 are counted by anybody under 18, as the study describes its column; P20 has those
    of 65 and over beside all who live alone.
    """
    release = load_release("dhc_2020_households")
    minors = release.recode_by_name["under_18"].masks
    tables = []
    for table in release.tables:
        cells = [cell.masks for cell in _leaves(table)]
        if table.name in {"P21", "H15"}:
            at, kept = release.feature_index["minors"], release.feature_index["children"]
            owner = release.feature_index["tenure"]
            tenures = {cell.masks[owner] for cell in _leaves(table)}
            first = table.cells[0].masks
            cells = []
            for tenure in sorted(tenures):
                for mask in minors:
                    masks = list(first)
                    masks[owner], masks[at], masks[kept] = tenure, mask, release.full[kept]
                    cells.append(tuple(masks))
        numbered = tuple(Cell(number, masks) for number, masks in enumerate(cells, start=1))
        tables.append(Table(table.name, table.code, ("block",), numbered))
    return replace(release, name="study_households", tables=tuple(tables))


def _leaves(table: Table) -> list[Cell]:
    """The cells that contain no other one; and those who live alone, of whom a part is a cell."""

    def inside(inner: Cell, outer: Cell) -> bool:
        return inner is not outer and all(
            a & ~b == 0 for a, b in zip(inner.masks, outer.masks, strict=True)
        )

    return [
        cell
        for cell in table.cells
        if sum(inside(other, cell) for other in table.cells) == (table.name == "P20")
        or not any(inside(other, cell) for other in table.cells)
    ]


@dataclass(frozen=True)
class Sample:
    """Blocks of the synthetic nation.

    Attributes:
        nation: All occupied housing units.
        chosen: Those of the chosen blocks.
        published: Their tables.
    """

    nation: pl.DataFrame
    chosen: pl.DataFrame
    published: Publication

    @property
    def blocks(self) -> list[str]:
        """The chosen blocks."""
        return self.chosen["geoid_block"].unique().sort().to_list()


def make_nation(people: int, seed: int) -> pl.DataFrame:
    """Occupied housing units of a synthetic nation."""
    nation = load_nation(None)
    counties = plan_nation(nation, people, seed)
    units = pl.concat(generate_county(nation, county, seed).households for county in counties)
    return units.filter(vacancy="occupied").sort("geoid_block", "household")


def draw_blocks(
    release: Release,
    nation: pl.DataFrame,
    size: int | None,
    count: int,
    seed: int,
    *,
    by_state: bool = False,
) -> Sample:
    """This many blocks of a size, or of the median one, and what is published of them.

    Args:
        by_state: As many of each state, of its own median.
    """
    sizes = nation.group_by("geoid_block").len("size").sort("geoid_block")
    state = pl.col("geoid_block").str.head(2) if by_state else pl.lit("")
    groups = sizes.with_columns(_state=state).partition_by("_state")
    drawn: list[str] = []
    for group in groups:
        wanted = size or int(np.median(group["size"].to_numpy()))
        blocks = group.filter(size=wanted)["geoid_block"].to_list()
        rng = np.random.default_rng([seed, wanted])
        drawn += sorted(rng.permutation(blocks)[: count // len(groups)].tolist())
    chosen = nation.filter(pl.col("geoid_block").is_in(drawn))
    return Sample(nation, chosen, recon.publish(release, recon.tabulate(release, chosen)))
