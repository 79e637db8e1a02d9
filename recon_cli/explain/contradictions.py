"""Contradicting counts, named: the published cells whose change makes a release possible.

Regions share no count, so the least change of a whole region is looked for first. Where that has
too many unknowns, a single geounit whose own counts contradict each other is named, or a coarse
geounit that is not the sum of its units; what is named then is not called the least of the whole.

See *contradiction* in docs/glossary.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from recon_cli.arrays import IntArray
from recon_cli.errors import ContradictionError, SolverError
from recon_cli.explain.corrections import CellsInUse, CountCorrection, least_correction
from recon_cli.explain.facts import PublishedCell
from recon_cli.frames import OPEN
from recon_cli.model.counts import PartitionCounts
from recon_cli.model.plan import Plan
from recon_cli.plurals import plural
from recon_cli.publication import Publication

#: Geounits that are looked at one by one.
_TRIED = 200
#: Cells or geounits that a message lists.
_SHOWN = 8


def contradiction(
    plan: Plan, published: Publication, counts: PartitionCounts, suspects: IntArray
) -> ContradictionError:
    """The error for geounits whose counts no records can have.

    Args:
        plan: Which tables are in use.
        counts: The same as arrays.
        suspects: Row numbers of geounits that take part in contradictions. A region with one of
            them has no solution.

    Raises:
        SolverError: Two engines disagree on the least change, or on whether one is needed.
    """
    cells = CellsInUse(plan, published, counts)
    level = plan.release.region
    regions = sorted({level.enclosing(cells.geoid(row)) for row in suspects.tolist()})
    others = ""
    if len(regions) > 1:
        name = level.name if len(regions) == 2 else plural(level.name)
        others = f"; at least {len(regions) - 1} other {name} contradict too"
    region = f"{level.name} {regions[0]}"
    inside = cells.rows_in(regions[0])
    units = [row for row in inside if cells.level(row) == plan.release.geography.unit.name]
    correction = least_correction(plan, cells, inside, units)
    if correction is not None and not correction.cells:
        raise SolverError(
            f"{region}: bounds of its counts contradict each other, a solver does not"
        )
    if correction is not None:
        message = _correction_message(correction, f"all counts of {region}")
    elif published.is_exact:
        order = [row for row in suspects.tolist() if row in set(inside)]
        message = _partial_message(plan, cells, inside, units, order)
        message += f"; the least change for all counts of {region} is not known"
    else:
        message = f"the least change for all counts of {region} is not known"
    if not published.is_exact:
        named = suspects[:_SHOWN].tolist()
        names = ", ".join(f"{cells.level(row)} {cells.geoid(row)}" for row in named)
        message = (
            f"in {names} no true counts within what they state fit together; {message}; is the law "
            "declared for them the right one?"
        )
    schema = f"does the schema of release {plan.release.name!r} say what the tables count?"
    return ContradictionError(
        f"published counts contradict each other: {message}{others}; {schema}", regions[0]
    )


def _partial_message(
    plan: Plan, cells: CellsInUse, inside: list[int], units: list[int], suspects: list[int]
) -> str:
    """What is found geounit by geounit where the region has too many unknowns."""
    finest_first = sorted(suspects, key=lambda row: (-len(cells.geoid(row)), cells.geoid(row)))
    # A clash between levels may come from a unit that is no suspect.
    tried = [*finest_first, *(row for row in units if row not in set(suspects))][:_TRIED]
    alone = ((row, least_correction(plan, cells, [row], [row])) for row in tried)
    contradicting = [(row, each) for row, each in alone if each is not None and each.cells]
    if contradicting:
        row, correction = contradicting[0]
        name = f"{cells.level(row)} {cells.geoid(row)}"
        message = _correction_message(correction, f"the counts of {name}, taken alone,")
        more = len(contradicting) - 1
        return message + (f"; at least {more} more geounits contradict themselves" if more else "")
    unit = plan.release.geography.unit.name
    for row in inside:
        if row not in units and (differing := list(_unequal_sums(cells, row, units))):
            return _listed(
                f"{cell}: published {cell.count}, its {plural(unit)} sum to {total}"
                for cell, total in differing
            )
    names = [f"{cells.level(row)} {cells.geoid(row)}" for row in finest_first]
    return f"in {', '.join(names[:_SHOWN])}" + (" and others" if len(names) > _SHOWN else "")


def _unequal_sums(
    cells: CellsInUse, row: int, units: Sequence[int]
) -> Iterator[tuple[PublishedCell, int]]:
    """Cells of a coarse geounit that are not the sum of its units, with that sum."""
    inside = [unit for unit in units if cells.is_inside(unit, row)]
    totals: Counter[tuple[str, int]] = Counter()
    published: Counter[tuple[str, int]] = Counter()
    for unit in inside:
        for c in cells.of(unit):
            totals[c.table.name, c.cell.number] += c.count
            published[c.table.name, c.cell.number] += 1
    for c in cells.of(row):
        key = c.table.name, c.cell.number
        if inside and published[key] == len(inside) and totals[key] != c.count:
            yield c, totals[key]


def _correction_message(correction: CountCorrection, counts: str) -> str:
    """A change in words: the least only where that is proven."""
    kind = "the least change" if correction.is_least else "a change, not proven least,"
    number = len(correction.cells)
    listed = _listed(f"{c}: {_changed(c, step)}" for c, step in correction.cells)
    message = (
        f"{kind} that makes {counts} possible is {correction.total} in "
        f"{number} {'cell' if number == 1 else 'cells'}: {listed}"
    )
    if correction.is_least and correction.has_alternative:
        message += "; others, of other cells, are as small"
    return message


def _changed(cell: PublishedCell, step: int) -> str:
    """A count and what it would have to be; of a statement what it states, and the same."""
    if cell.high in (None, cell.count):
        return f"{cell.count} → {cell.count + step}"
    stated = f"{cell.count} to {cell.high}" if cell.high < OPEN else f"{cell.count} or more"
    return f"{stated} → {cell.count + step if step < 0 else cell.high + step}"


def _listed(cells: Iterator[str]) -> str:
    texts = list(cells)
    more = f"; and {len(texts) - _SHOWN} more cells" if len(texts) > _SHOWN else ""
    return "; ".join(texts[:_SHOWN]) + more
