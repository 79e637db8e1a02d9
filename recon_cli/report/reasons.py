"""Why people are certain, in words: `Explanation` → `Reason`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from recon_cli.explain.counterexamples import Claim
from recon_cli.explain.facts import Facts, RecordCounts, Scope
from recon_cli.explain.minimal_explanation import Explanation, SearchEffort, find_explanation
from recon_cli.report.unit_kinds import Labels, kind_masks
from recon_cli.report.view import Place, Reason, ReasonLine, RecordKind
from recon_cli.schema import Release
from recon_cli.schema.words import say_cell

_METHODS = {"propagation": "proven by propagation of bounds", "solver": "proven by two solvers"}


class Reasons:
    """Looks for the published cells that force certain people of one unit."""

    def __init__(
        self,
        release: Release,
        facts_of: Callable[[Scope], Facts],
        people: RecordCounts,
        budget: SearchEffort,
    ) -> None:
        self._release = release
        self._facts_of = cache(facts_of)
        self._people = people
        self._budget = budget

    def of(self, kind: RecordKind, labels: Labels, widest: Scope) -> Reason:
        """The reason of one kind.

        Args:
            kind: People of whom some are certain.
            labels: Their histogram columns.
            widest: Whose cells may be looked at.

        Raises:
            SolverError: Two engines disagree.
            StageError: The published cells do not force it.
        """
        forcing = self._find(kind, labels, self._budget, widest)
        return self._say(kind, forcing, self._silence(forcing, widest))

    def at_a_glance(self, kind: RecordKind, labels: Labels) -> Reason | None:
        """The reason of one kind, if the unit's own cells show it quickly; see `of`."""
        forcing = self._find(kind, labels, self._budget.glance, Scope.UNIT)
        return self._say(kind, forcing, "") if forcing.cells else None

    def _find(
        self, kind: RecordKind, labels: Labels, budget: SearchEffort, widest: Scope
    ) -> Explanation:
        claim = Claim(kind_masks(self._release, labels), kind.lower)
        return find_explanation(self._facts_of, self._people, claim, budget, widest)

    def _say(self, kind: RecordKind, forcing: Explanation, silence: str) -> Reason:
        own = self._facts_of(Scope.UNIT)
        home = own.units[own.unit]
        return Reason(
            kind=kind,
            lines=tuple(self._line(forcing, at, home) for at in self._order(forcing, home)),
            is_minimal=forcing.is_minimal,
            note=_METHODS[forcing.method] if forcing.cells else silence,
        )

    def _order(self, forcing: Explanation, home: str) -> Sequence[int]:
        """Own cells first, then those of coarser geounits, then others; in published order."""
        ranks = [
            (cell.geoid != home, not home.startswith(cell.geoid), at)
            for at, cell in enumerate(forcing.cells)
        ]
        return [at for _, _, at in sorted(ranks)]

    def _line(self, forcing: Explanation, at: int, home: str) -> ReasonLine:
        cell = forcing.cells[at]
        place = Place(cell.level.replace("_", " "), cell.geoid)
        return ReasonLine(
            place=None if cell.geoid == home else place,
            table=cell.table.name,
            code=cell.table.codes[cell.cell.number - 1],
            words=say_cell(self._release, cell.cell),
            count=cell.count,
        )

    def _silence(self, forcing: Explanation, widest: Scope) -> str:
        if forcing.scope > widest:
            region = self._release.region.name.replace("_", " ")
            return f"its own cells are not enough, those of other places in its {region} are needed"
        return "no set of cells was found within the budget; that they are certain is proven"
