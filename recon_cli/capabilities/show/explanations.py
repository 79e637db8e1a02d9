"""Explanations of certain records of a unit: the published cells that imply them, in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial

from recon_cli.capabilities.reconstruct.facts import (
    EVERYWHERE,
    Facts,
    PublishedCell,
    Scope,
    facts_around,
    record_counts_of,
)
from recon_cli.capabilities.reconstruct.unit_status import MISSING
from recon_cli.capabilities.show.counterexamples import Claim
from recon_cli.capabilities.show.geounit import Reconstructed, Why
from recon_cli.capabilities.show.geounit_page import UnitKinds, kind_masks
from recon_cli.capabilities.show.minimal_explanation import (
    Explanation,
    SearchEffort,
    find_explanation,
)
from recon_cli.capabilities.show.view import CellLine, GeounitName, Reason, ReasonLine, RecordKind
from recon_cli.errors import ConfigError
from recon_cli.page.words import words_of
from recon_cli.pipeline.failure_log import log_disagreements
from recon_cli.progress import Task
from recon_cli.schema import Release
from recon_cli.schema.description import describe_cell


def explain_rows(located: Reconstructed, kinds: UnitKinds, why: Why) -> tuple[Reason, ...]:
    """Explain the requested rows.

    Args:
        located: A unit.

    Raises:
        ConfigError: There is no such row, or nobody in it is certain.
        SolverError: Two engines disagree; the model is kept in the work folder.
    """
    chosen = _chosen(kinds.kinds, why)
    if not chosen:
        return ()
    release, published = located.release, located.published

    @cache
    def facts_of(scope: Scope) -> Facts:
        return facts_around(release, published, located.tables, located.geoid, scope)

    people = record_counts_of(release, located.records, facts_of(Scope.UNIT).units)

    def reason(kind: RecordKind, effort: SearchEffort, widest: Scope) -> Reason:
        claim = Claim(kind_masks(release, kinds.labels[kind.number - 1]), kind.lower)
        explanation = find_explanation(facts_of, people, claim, effort, widest)
        unit, names = located.geoid, located.names
        return reason_of(release, kind, explanation, unit, widest, names=names)

    effort = SearchEffort(seed=located.run.config.top.seed)
    with log_disagreements(located.run.work):
        if not why.is_asked:
            quickly = partial(reason, effort=effort.quick, widest=Scope.UNIT)
            return _first_reasons(quickly, chosen, why.first)
        # Where a unit was not solved, the region's records do not add up to its counts.
        widest = Scope.UNIT if located.blocks["status"].is_in(MISSING).any() else Scope.REGION
        certain = sum(kind.lower for kind in chosen)
        task = Task("why", "row", len(chosen), certain, release.record)
        answers = []
        with located.run.reporter.bar(task) as bar:
            for kind in chosen:
                answers.append(reason(kind, effort, widest))
                bar.advance(1, kind.lower)
    return tuple(answers)


def _first_reasons(
    reason_quickly: Callable[[RecordKind], Reason], chosen: Sequence[RecordKind], most: int
) -> tuple[Reason, ...]:
    """Return a few quickly found reasons, spread over the list."""
    answers: list[Reason] = []
    step = -(-len(chosen) // (3 * most))
    for kind in chosen[::step]:
        reason = reason_quickly(kind)
        if reason.lines:
            answers.append(reason)
        if len(answers) == most:
            break
    return tuple(sorted(answers, key=lambda reason: reason.kind.number))


def _chosen(kinds: Sequence[RecordKind], why: Why) -> list[RecordKind]:
    """Select the kinds to explain; by default all certain ones, the fewest people first."""
    certain = [kind for kind in kinds if kind.lower]
    if why.everyone:
        return certain
    if why.numbers is None:
        return sorted(certain, key=lambda kind: (kind.lower, kind.number))
    chosen = []
    for number in why.numbers:
        if not kinds:
            raise ConfigError(
                f"--why {number}: the geounit is empty, so there is no row to explain"
            )
        if not 1 <= number <= len(kinds):
            raise ConfigError(f"--why {number}: the list has rows 1 to {len(kinds)}")
        if not kinds[number - 1].lower:
            raise ConfigError(
                f"--why {number}: no record in row {number} ({kinds[number - 1].words}) is certain"
            )
        chosen.append(kinds[number - 1])
    return chosen


def reason_of(
    release: Release,
    kind: RecordKind,
    explanation: Explanation,
    unit: str,
    widest: Scope,
    *,
    names: Mapping[str, str],
) -> Reason:
    """Describe an explanation in words.

    Args:
        kind: People of whom some are certain.
        explanation: Explanation of the kind.
        unit: Geoid of their unit.
        widest: The widest scope that was searched.
        names: Geoid → name of the geounit, where known.
    """
    cells = [
        cell for _, cell in sorted(enumerate(explanation.cells), key=_reading_order(unit, release))
    ]
    return Reason(
        kind=kind,
        lines=tuple(_line(cell, unit, release, names) for cell in cells),
        is_minimal=explanation.is_minimal,
        method=explanation.method,
        words=words_of(release),
        wanting=release.region.name.replace("_", " ") if explanation.scope > widest else "",
    )


def _reading_order(
    unit: str, release: Release
) -> Callable[[tuple[int, PublishedCell]], tuple[bool, ...]]:
    """Sort own cells first, then those of enclosing geounits, then others, then zeros."""

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
