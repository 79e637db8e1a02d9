"""Take the sums among the values of a long table that numbers show, or ask about them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from recon_cli.arrays import BoolArray
from recon_cli.capabilities.init.open_question import OpenQuestion, ask_ways, flag
from recon_cli.capabilities.init.proposal.chance import is_near_chance
from recon_cli.capabilities.init.proposal.crossed import (
    ValueSum,
    numbers_by_line,
    numbers_of_rows,
    value_sums,
)
from recon_cli.capabilities.init.proposal.evidence import Support
from recon_cli.capabilities.init.proposal.intervals import Intervals
from recon_cli.capabilities.init.proposal.row_totals import said_groups
from recon_cli.capabilities.init.proposal.said_sums import sums_of_values, with_said_values
from recon_cli.capabilities.init.proposal.sum_weights import support_of
from recon_cli.sources.read.choices import Choices, column_names
from recon_cli.sources.read.grid import Grid
from recon_cli.sources.read.names import Names
from recon_cli.sources.read.regions import Region
from recon_cli.sources.read.table_reading import NAMELESS


@dataclass(frozen=True)
class LongValues:
    """The values of the dimensions of a long table.

    Attributes:
        headers: Column → its words, outermost first.
        withheld: Cells whose numbers a flag beside them takes back.
        choices: What the user says of the table.
        ask: Takes a question.
    """

    grid: Grid
    region: Region
    headers: Mapping[int, tuple[str, ...]]
    names: Names
    withheld: BoolArray
    choices: Choices
    ask: Callable[[OpenQuestion], None]

    def sums(self, counts: Sequence[int], base: int, places: Collection[int]) -> list[ValueSum]:
        """Return the sums that numbers show or the user says; ask about others that may be.

        Args:
            counts: The columns of whole numbers.
            base: What the counts are rounded to.
            places: The columns of places and their codes; rivals of their sums are dropped.
        """
        if not counts:
            return []
        grid, region, keys = self.grid, self.region, self.names.keys
        found = [e for at in counts for e in value_sums(grid, region, keys, at, self.withheld)]
        dimensions = [(at, grid.coded((region.body, at))[0]) for at in keys]
        # What one column shows is no question where stars leave it open in another.
        shown = {(each.dimension, each.total) for each in found if each.support.is_strong}
        found = [e for e in found if e.support.shown or (e.dimension, e.total) not in shown]
        sums = sums_of_values(self.choices.sums)
        found = with_said_values(found, sums, dimensions, counts[0], places)
        found = [
            each
            for each in found
            if each.support.shown or each.support.is_said or self._may_be(each, counts, base)
        ]
        # What is asked of one sum may tell the others.
        said = {*self.choices.total, *self.choices.apart}
        unsaid = [e for e in found if not (e.support.is_said or e.total in said)]
        open_ = {
            e.dimension
            for e in unsaid
            if e.support.shown and (not e.support.is_strong or is_near_chance(e))
        }
        for at, values in dimensions:
            if at not in open_ and at not in self.names.parents:
                strong = {
                    values.index(each.total): [values.index(part) for part in each.parts]
                    for each in found
                    if each.dimension == at
                    and (each.support.is_strong or each.total in self.choices.total)
                }
                groups, asked = self._groups(at, values, counts[0], base, strong)
                if asked:  # what some number shows, sooner than what none does
                    found = [e for e in found if e.dimension != at or _is_borne(e)]
                found += groups
        found = [replace(e, rivals=()) if e.dimension in places else e for e in found]
        return [self._as_said(each) for each in found]

    def _may_be(self, each: ValueSum, counts: Sequence[int], base: int) -> bool:
        """Test whether no number of any column forbids a sum of values."""
        values = self.grid.coded((self.region.body, each.dimension))[0]
        lines = np.array([values.index(value) for value in (each.total, *each.parts)])
        blocks = [self._block(each.dimension, count) for count in counts]
        own = Intervals.beside([b.take(lines, np.arange(b.low.shape[1])) for b in blocks])
        return not support_of(own, np.full(own.low.shape[1], 2.0 * (base - 1))).broken

    def _is_most(self, each: ValueSum) -> bool:
        """Test whether a total is nowhere less than its parts, and told somewhere with each."""
        values = self.grid.coded((self.region.body, each.dimension))[0]
        block = self._block(each.dimension, each.count)
        whole, *parts = (values.index(value) for value in (each.total, *each.parts))
        known = block.known[whole] & block.known[parts]
        is_more = known & (block.low[parts] > block.low[whole])
        return bool(known.any(axis=1).all()) and not is_more.any()

    def _block(self, at: int, count: int) -> Intervals:
        """Return the numbers of a column: values of a dimension by combinations of the others."""
        cells = numbers_of_rows(self.grid, self.region, count, self.withheld)
        lines = self.grid.coded((self.region.body, at))[1]
        beside = [key for key in self.names.keys if key != at]
        return numbers_by_line(cells, lines, self.grid.combinations(self.region.body, beside)[1])

    def _groups(
        self,
        at: int,
        values: Sequence[str],
        count: int,
        base: int,
        strong: Mapping[int, Sequence[int]],
    ) -> tuple[list[ValueSum], bool]:
        """Find the totals that cut the values of a dimension into groups, and ask about them.

        Returns:
            The sums that the user says, and whether others are asked about.
        """
        block, asked = self._block(at, count), list[OpenQuestion]()
        groups = said_groups(block, values, base, strong, said=self.choices, ask=asked.append)
        for each in asked:
            self.ask(each)
        told = Support(0, 0, 0, 0.0, 0.0, is_said=True)
        sums = [
            ValueSum(at, count, values[total], tuple(values[i] for i in own), told)
            for total, own in groups.items()
        ]
        return sums, bool(asked)

    def _as_said(self, each: ValueSum) -> ValueSum:
        """Return a sum of values as the user says; else ask if no number shows it, or chance may.

        A sum that chance may have made is doubted until the user confirms it.
        """
        name, own = column_names(self.headers)[each.dimension], each.total
        doubted = replace(each, support=replace(each.support, is_doubted=True))
        is_said = each.support.is_said or own in self.choices.total
        is_apart = name in self.choices.apart
        is_chance = is_near_chance(each) or bool(each.rivals)
        if own in self.choices.apart or (is_apart and is_chance and not is_said):
            return doubted
        if is_said or is_apart or (each.support.shown and not is_chance and not each.slip):
            return replace(each, support=replace(each.support, is_said=is_said))
        parts = " + ".join(map(repr, each.parts[:4])) + " + …" * (len(each.parts) > 4)
        if each.slip:
            rows = self.region.body[list(each.slip)]
            total, *numbers = self.grid.texts[rows, each.count].tolist()
            text = (
                f"row {self.grid.rows[rows[0]]}: {name} {own!r} is {total}, and {parts} are "
                f"{' + '.join(numbers[:4])}; they add up in {each.support.shown} other rows: mend "
                "the file, or take it as it is"
            )
            answers = {"as it is": flag("total", own), "of its own": flag("apart", own)}
        elif each.rivals:
            self.ask(ask_ways(own, (each.parts, *each.rivals), (each.dimension,)))
            return doubted
        elif each.support.shown:
            text = (
                f"{name}: {own!r} is {parts} in {each.support.shown} rows, which may be chance: is "
                "it their total, or of its own?"
            )
            answers = {"of its own": flag("apart", own), "their total": flag("total", own)}
        else:
            text = (
                f"{name}: {own!r} may be {parts}: too few rows show it, none forbids it; is it so?"
            )
            answers = {"yes": flag("total", own), "no": flag("apart", name)}
            # A blank is all of a group, which may be divided no further.
            if not own and self._is_most(each):
                more = flag("sum", f"{NAMELESS} = {' + '.join(each.parts)} + ...")
                answers["they are in it, and others, too"] = more
        self.ask(OpenQuestion(text, answers, (each.dimension,)))
        return doubted if each.support.shown else each


def _is_borne(each: ValueSum) -> bool:
    """Test whether some number shows a sum, or the user says it."""
    return bool(each.support.shown) or each.support.is_said
