"""The study's formulation: each household by one binary variable a value of each column.

A query on several columns has a variable for each household that is the product of sums, and the
sum over households is the published count. One more such product, and its sum other than the
claimed number, refutes a claim or proves it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from ortools.sat.python import cp_model
from scipy import optimize, sparse

from recon_cli.publication import Publication
from recon_cli.schema import Release, bits

Masks = tuple[int, ...]
#: Wall seconds for one question; the study allowed 180.
LIMIT = 180.0


@dataclass(frozen=True)
class Answer:
    """What an engine says of a model.

    Attributes:
        is_feasible: Whether it has a solution; None where the time ended.
        seconds: CPU seconds, of one thread.
    """

    is_feasible: bool | None
    seconds: float


@dataclass
class OneHot:
    """A model as rows ``low <= sum <= high`` over binary variables.

    Attributes:
        release: The schema.
        households: Of the block.
        variables: How many there are.
        rows: Variables, coefficients, and both ends.
    """

    release: Release
    households: int
    variables: int = 0
    rows: list[tuple[list[int], list[int], float, float]] = field(default_factory=list)

    @classmethod
    def of(cls, release: Release, published: Publication, households: int) -> OneHot:
        """The model of one block."""
        model = cls(release, households)
        sizes = [len(feature.values) for feature in release.features]
        model.variables = households * sum(sizes)
        for household in range(households):
            for f, size in enumerate(sizes):
                one = [model.value(household, f, at) for at in range(size)]
                model.rows.append((one, [1] * size, 1, 1))
        counts = {(t, c): n for t, c, n in published.counts.select("table", "cell", "count").rows()}
        for table in release.tables:
            for cell in table.cells:
                count = counts.get((table.name, cell.number), 0)
                members = model.members(cell.masks)
                model.rows.append((members, [1] * len(members), count, count))
        for masks in release.impossible:
            members = model.members(masks)
            model.rows.append((members, [1] * len(members), 0, 0))
        return model

    def value(self, household: int, f: int, at: int) -> int:
        """The variable of a value of a household."""
        sizes = [len(feature.values) for feature in self.release.features]
        return household * sum(sizes) + sum(sizes[:f]) + at

    def members(self, masks: Masks) -> list[int]:
        """Variables whose sum is the number of households with these values."""
        asked = [f for f, m in enumerate(masks) if m != self.release.full[f]]
        if len(asked) == 1:
            (f,) = asked
            return [self.value(h, f, at) for h in range(self.households) for at in bits(masks[f])]
        found = []
        for household in range(self.households):
            product, self.variables = self.variables, self.variables + 1
            found.append(product)
            all_values = []
            for f in asked:
                values = [self.value(household, f, at) for at in bits(masks[f])]
                all_values += values
                self.rows.append(([product, *values], [1] + [-1] * len(values), -np.inf, 0))
            ends = [-1] + [1] * len(all_values)
            self.rows.append(([product, *all_values], ends, -np.inf, len(asked) - 1))
        return found

    def asking(self, masks: Masks, low: float, high: float) -> OneHot:
        """The model with a further count between two ends."""
        model = OneHot(self.release, self.households, self.variables, list(self.rows))
        members = model.members(masks)
        model.rows.append((members, [1] * len(members), low, high))
        return model

    def by_cp_sat(self, seed: int) -> Answer:
        """By CP-SAT; setting up aside."""
        model = cp_model.CpModel()
        x = [model.new_bool_var("") for _ in range(self.variables)]
        for members, weights, low, high in self.rows:
            total = cp_model.LinearExpr.weighted_sum([x[at] for at in members], weights)
            least = -len(members) if np.isinf(low) else int(low)
            most = len(members) if np.isinf(high) else int(high)
            model.add_linear_constraint(total, least, most)
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = seed
        solver.parameters.max_time_in_seconds = LIMIT
        started = time.process_time()
        status = solver.solve(model)
        is_feasible = {cp_model.OPTIMAL: True, cp_model.FEASIBLE: True, cp_model.INFEASIBLE: False}
        return Answer(is_feasible.get(status), time.process_time() - started)

    def by_highs(self, _seed: int) -> Answer:
        """By HiGHS; setting up aside."""
        entries = [
            (row, at, w)
            for row, (members, weights, _, _) in enumerate(self.rows)
            for at, w in zip(members, weights, strict=True)
        ]
        row, column, weight = (np.array(part) for part in zip(*entries, strict=True))
        A = sparse.csr_array((weight, (row, column)), shape=(len(self.rows), self.variables))
        ends = np.array([(low, high) for _, _, low, high in self.rows])
        started = time.process_time()
        result = optimize.milp(
            np.zeros(self.variables),
            constraints=optimize.LinearConstraint(A, ends[:, 0], ends[:, 1]),
            integrality=np.ones(self.variables, dtype=np.int64),
            bounds=optimize.Bounds(0, 1),
            options={"time_limit": LIMIT},
        )
        is_feasible = {0: True, 2: False}.get(result.status)
        return Answer(is_feasible, time.process_time() - started)


def masks_of(release: Release, columns: Sequence[str], values: Sequence[object]) -> Masks:
    """The predicate of a claim."""
    masks = list(release.full)
    for name, value in zip(columns, values, strict=True):
        if value is not None:
            group = release.column_groups(name)
            at = release.feature_index[group.feature]
            masks[at] &= group.masks[group.labels.index(value)]
    return tuple(masks)
