"""Why records of a unit are certain: the published cells that force them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from recon_cli.attack.unit_status import MISSING
from recon_cli.errors import ConfigError
from recon_cli.explain.counterexamples import Claim
from recon_cli.explain.facts import Facts, Scope, facts_around, record_counts_of
from recon_cli.explain.minimal_explanation import SearchEffort, find_explanation
from recon_cli.pipeline.disagreement_log import log_disagreements
from recon_cli.progress import Task
from recon_cli.report.reasons import reason_of
from recon_cli.report.unit_kinds import UnitKinds, kind_masks
from recon_cli.report.view import Reason, RecordKind
from recon_cli.stages.geounit import Reconstructed
from recon_cli.stages.why import Why


def explain_rows(located: Reconstructed, kinds: UnitKinds, why: Why) -> tuple[Reason, ...]:
    """The reasons of the rows that are asked for.

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
    """A few that are quickly located, from all over the list."""
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
    """The kinds to explain; by default all certain ones, the fewest people first."""
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
