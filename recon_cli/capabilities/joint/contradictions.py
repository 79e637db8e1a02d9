"""Contradictions of two releases that are each possible alone: a link, and tables of both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from scipy import sparse

from recon_cli.arrays import BoolArray, IntArray
from recon_cli.capabilities.joint.release import JointRelease, Link
from recon_cli.errors import ContradictionError
from recon_cli.markdown import markdown_table, markdown_text
from recon_cli.model.plan import Plan
from recon_cli.model.predicates import Masks
from recon_cli.model.program import IntegerProgram, LinearConstraints, stacked
from recon_cli.solve.feasibility import Feasibility, solve_program

#: Question about possible causes.
_QUESTION = "are all releases made from the same records, and does every link hold in them?"
#: Tables of a part that a message lists.
_SHOWN = 4


@dataclass(frozen=True)
class JointRows:
    """The program of one place.

    Attributes:
        own: Rows of both parts.
        linking: Rows of the links.
        link: For each of `linking` the number of its link.
        label: For each of `linking` the places of its labels, see
            `recon_cli.capabilities.joint.links.LinkRows`.
        upper: Upper bound of each variable.
    """

    own: LinearConstraints
    linking: LinearConstraints
    link: IntArray
    label: IntArray
    upper: IntArray

    def is_possible(self, kept: BoolArray, seed: int) -> bool:
        """Test whether no proof excludes a solution under some of the rows of links."""
        at = np.flatnonzero(kept)
        some = LinearConstraints(
            sparse.csr_array(self.linking.A[at]), self.linking.least[at], self.linking.most[at]
        )
        rows = stacked(self.own, some)
        program = IntegerProgram(rows, np.zeros_like(self.upper), self.upper)
        return solve_program(program, seed).outcome is not Feasibility.INFEASIBLE


def joint_contradiction(
    joint: JointRelease, plans: Sequence[Plan], geoid: str, rows: JointRows, seed: int
) -> ContradictionError:
    """Return the error for a place whose two parts no records can have together.

    The error names a minimal set of rows of links: without any one of them there are solutions, or
    their absence is not proven.
    """
    kept = np.ones(len(rows.link), dtype=bool)
    groups: list[IntArray] = [
        np.flatnonzero(rows.link == number) for number in np.unique(rows.link).tolist()
    ]
    for group in (*groups, *np.arange(len(kept))[:, None]):
        if not kept[group].any():
            continue
        fewer = kept.copy()
        fewer[group] = False
        if not rows.is_possible(fewer, seed):
            kept = fewer
    told = list(dict.fromkeys(_told(joint, plans, rows, np.flatnonzero(kept))))
    place = f"{plans[0].release.geography.unit.name} {geoid}"
    return ContradictionError(
        f"{place}: the counts of {'s and of '.join(joint.names)}s are possible, "
        f"but not together under the links of {joint.name!r}: {'; '.join(map(str, told))}; "
        f"{_QUESTION}",
        geoid,
        _page(joint, place, told),
    )


@dataclass(frozen=True)
class _Needed:
    """A row of a link that cannot be left out.

    Attributes:
        link: Name of the link in messages.
        by: The groups that it is about, in words; empty for all.
        kinds: Names of the parts' records.
        tables: Tables of each part that count these records.
    """

    link: str
    by: str
    kinds: tuple[str, str]
    tables: tuple[str, str]

    def __str__(self) -> str:
        pairs = zip(self.kinds, self.tables, strict=True)
        sides = " and ".join(f"{kind}s' {tables}" for kind, tables in pairs)
        return f"{self.link}{' of ' + self.by if self.by else ''}, between {sides}"


def _page(joint: JointRelease, place: str, told: Sequence[_Needed]) -> str:
    """Write Markdown with every needed row of a link, and the tables of both parts."""
    header = ["link", "of", "records", "their tables", "and records", "their tables"]
    rows = [
        [row.link, row.by or "all", *chain(*zip(row.kinds, row.tables, strict=True))]
        for row in told
    ]
    releases = ", ".join(
        f"{name}s are those of {release}"
        for name, release in zip(joint.names, joint.releases, strict=True)
    )
    heading = markdown_text(
        f"# {place}: no records have all of these counts\n\n"
        f"Each release is possible by itself ({releases}), but not together with the others under "
        f"the links of {joint.name}. Without any one of these rows no contradiction is shown:\n\n"
    )
    return (
        f"{heading}{markdown_table(header, rows, len(header))}\n"
        f"{_QUESTION[0].upper()}{_QUESTION[1:]} Two solvers say so, or bounds of counts; no other "
        "program has checked it.\n"
    )


def _told(
    joint: JointRelease, plans: Sequence[Plan], rows: JointRows, kept: IntArray
) -> Iterator[_Needed]:
    """Yield each needed row, with the tables of both parts that count its records."""
    for row in kept.tolist():
        link = joint.links[int(rows.link[row])]
        labels = [
            pair[0].labels[at] for pair, at in zip(link.by, rows.label[row].tolist(), strict=False)
        ]
        by = ", ".join(
            f"{pair[0].name} {label}" for pair, label in zip(link.by, labels, strict=True)
        )
        first, second = (
            _tables(plans[part], _masks(link, side, labels, plans[part]))
            for side, part in enumerate(link.parts)
        )
        one, other = (joint.names[part] for part in link.parts)
        yield _Needed(str(link), by, (one, other), (first, second))


def _masks(link: Link, side: int, labels: Sequence[object], plan: Plan) -> Masks:
    """Return the records of one part that a row counts."""
    masks = list(link.predicates[side])
    for pair, label in zip(link.by, labels, strict=True):
        groups = pair[side]
        group = groups.masks[groups.labels.index(label)]
        masks[plan.release.feature_index[groups.feature]] &= group
    return tuple(masks)


def _tables(plan: Plan, masks: Masks) -> str:
    """Name the tables that count these records, or else those that distinguish them from others."""
    release, full = plan.release, plan.release.full
    unit = release.geography.unit.name
    here = [table for table in plan.tables if unit in table.levels]
    exact = [
        f"{table.name} cell {cell.number} ({table.codes[cell.number - 1]})"
        for table in here
        for cell in table.cells
        if cell.masks == masks and cell.tally is None
    ]
    about = {f for f, mask in enumerate(masks) if mask != full[f]}
    near = [table.name for table in here if about & release.distinguished_by(table.cells)]
    names = exact or near or [table.name for table in here]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{'table' if len(names) == 1 else 'tables'} {', '.join(names[:_SHOWN])}{more}"
