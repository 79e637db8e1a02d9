"""Why people are certain, in words: `Explanation` → `Reason`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from recon_cli.explain.facts import EVERYWHERE, PublishedCell, Scope
from recon_cli.explain.minimal_explanation import Explanation
from recon_cli.report.view import CellLine, GeounitName, Reason, ReasonLine, RecordKind
from recon_cli.report.words import words_of
from recon_cli.schema import Release
from recon_cli.schema.description import describe_cell

_METHODS = {"propagation": "proven by propagation of bounds", "solver": "two solvers agree"}


def reason_of(
    release: Release,
    kind: RecordKind,
    explanation: Explanation,
    unit: str,
    widest: Scope,
    *,
    names: Mapping[str, str],
) -> Reason:
    """An explanation in words.

    Args:
        kind: People of whom some are certain.
        explanation: Why.
        unit: Geoid of their unit.
        widest: The last scope that was looked at.
        names: Geoid → what people call the geounit, where that is known.
    """
    cells = [
        cell for _, cell in sorted(enumerate(explanation.cells), key=_reading_order(unit, release))
    ]
    return Reason(
        kind=kind,
        lines=tuple(_line(cell, unit, release, names) for cell in cells),
        is_minimal=explanation.is_minimal,
        note=_METHODS[explanation.method] if cells else _why_none(release, explanation, widest),
        words=words_of(release),
    )


def _reading_order(
    unit: str, release: Release
) -> Callable[[tuple[int, PublishedCell]], tuple[bool, ...]]:
    """Own cells first, then those of enclosing geounits, then others; structural zeros last."""

    def key(numbered: tuple[int, PublishedCell]) -> tuple[bool, ...]:
        _, cell = numbered
        return (
            cell.geoid == EVERYWHERE,
            cell.geoid != unit,
            not release.geography.inside(unit, cell.geoid),
        )

    return key


def _line(cell: PublishedCell, unit: str, release: Release, names: Mapping[str, str]) -> ReasonLine:
    name = GeounitName(cell.level.replace("_", " "), cell.geoid, names.get(cell.geoid, ""))
    return ReasonLine(
        geounit=None if cell.geoid in {unit, EVERYWHERE} else name,
        is_published=cell.geoid != EVERYWHERE,
        table=cell.table.name,
        cell=CellLine(
            code=cell.table.codes[cell.cell.number - 1],
            words=describe_cell(release, cell.cell),
            count=cell.count,
            high=cell.high,
        ),
    )


def _why_none(release: Release, explanation: Explanation, widest: Scope) -> str:
    if explanation.scope > widest:
        region = release.region.name.replace("_", " ")
        return f"its own cells are not enough, those of other geounits in its {region} are needed"
    return "no set of cells was found within the effort; that they are certain is proven"
