"""Ranges of counts by the joint histograms of whole regions, with or without printed statistics."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import polars as pl

from recon_cli.arrays import IntArray
from recon_cli.ask.quarantine import Quarantine
from recon_cli.capabilities.audit.cells import CountEnds
from recon_cli.capabilities.audit.clique_ends import Follow
from recon_cli.capabilities.audit.joint_ends import joint_ends
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.rows import KEY, Asked
from recon_cli.capabilities.reconstruct.solution import BatchSolution, solve_system
from recon_cli.errors import ContradictionError
from recon_cli.frames import OPEN
from recon_cli.model.counts import PartitionCounts, arrange_counts
from recon_cli.model.plan import Plan
from recon_cli.model.planning import plan_of_units
from recon_cli.model.statistic_texts import statistic_of
from recon_cli.model.system import System, build_system
from recon_cli.publication import Publication

#: Share of a region's budget for each attempt at people who print the published medians.
_SHARE: Final = 0.1


@dataclass(frozen=True)
class JointAudit:
    """The audit of the counts of one partition by joint histograms."""

    plan: Plan
    published: Publication
    counts: PartitionCounts
    options: Audit
    asked: Asked
    quarantine: Quarantine

    def ends(self, batch: slice, follow: Follow) -> tuple[pl.DataFrame, CountEnds] | None:
        """Return counts and bounds of a batch of whole regions; None if nothing is asked there.

        Args:
            follow: Returns the receiver of a part's counts as they are decided.
        """
        can_be_exact = self._can_be_exact
        exactly = self.counts.exactly if can_be_exact else self.counts
        system = build_system(self.plan, exactly, batch, must_list=False)
        if not system.strata:
            return None
        joined = system.joined
        if joined is None or (joined.is_exact and not len(joined.choices)):
            return self.within(batch, system, follow)
        if can_be_exact and joined.is_exact and not joined.has_many_choices:
            # Rows without choices show which texts contradict the counts.
            with suppress(ContradictionError):
                return replace(self, counts=exactly).within(batch, system, follow)
        if can_be_exact:
            system = build_system(self.plan, self.counts, batch, must_list=False)
        return self._between(batch, system, follow)

    @property
    def _can_be_exact(self) -> bool:
        """Report whether rows may state exactly what the printed statistics state.

        They cannot for quantiles, nor for medians whose definition is not declared.
        """
        texts = self.counts.statistics
        if texts is None:
            return True
        tables = self.plan.release.statistic_by_name
        found = (statistic_of(tables[name]) for name in texts.frame["table"].unique())
        return all(
            of.kind != "quantile" and (of.kind != "median" or of.definition != "any")
            for of in found
        )

    def within(
        self, batch: slice, system: System, follow: Follow
    ) -> tuple[pl.DataFrame, CountEnds]:
        """Return counts and bounds where all people who meet the rows print the statistics."""
        # If candidates are not listed, only solutions and margins bound the counts.
        kinds = (False,) if system.is_listed.all() else (False, True)
        names, ends = self.ends_of(self.solved(system, kinds), follow)
        if self._units_alone is not None and not system.is_listed.all():
            ends = self._units_alone.narrowed(batch, names, ends, follow)
        return names, ends

    def solved(
        self, system: System, kinds: Sequence[bool], people: IntArray | None = None
    ) -> list[BatchSolution]:
        """Return one solution of each kind: likely (True) or any (False).

        Args:
            people: A possible solution: the people in each candidate.
        """
        known = None if people is None or system.joined is None else system.joined.encoded(people)
        return [
            solve_system(
                self.plan,
                self.published,
                self.counts,
                system,
                seed=self.options.fixed_seed,
                quarantine=self.quarantine,
                is_likely=is_likely,
                known=known,
            )
            for is_likely in kinds
        ]

    def ends_of(
        self,
        solved: Sequence[BatchSolution],
        follow: Follow,
        left: pl.DataFrame | None = None,
    ) -> tuple[pl.DataFrame, CountEnds]:
        """Return counts and bounds, from some solutions.

        Args:
            left: The counts whose bounds are wanted; by default all that are asked for.
        """
        plan, counts, options = self.plan, self.counts, self.options
        watched = self.quarantine.of_batch(counts, solved[0].system)
        among = self.asked.among if left is None else left
        return joint_ends(
            plan,
            counts,
            solved,
            options,
            watched,
            among=among,
            follow=follow,
            with_ends=left is not None or self.asked.with_ends,
        )

    def _between(
        self, batch: slice, system: System, follow: Follow
    ) -> tuple[pl.DataFrame, CountEnds]:
        """Return counts and bounds where rows are necessary for the statistics, not sufficient.

        These rows prove the bounds; the solutions are found by rows that are sufficient for every
        text.
        """
        names, ends = self.ends_of(self.solved(system, (False,)), follow)
        ends = replace(ends, least=ends.upper, greatest=ends.lower)
        people: IntArray | None = None
        for chosen in self.counts.attempts():
            is_open = (ends.least > ends.lower) | (ends.greatest < ends.upper)
            if not is_open.any():
                break
            ends, people = self._seen(batch, chosen, (names, ends), follow, people)
        # A count without a known solution may have any value.
        is_seen = ends.least <= ends.greatest
        least = np.where(is_seen, ends.least, ends.lower)
        return names, replace(ends, least=least, greatest=np.where(is_seen, ends.greatest, least))

    def _seen(
        self,
        batch: slice,
        chosen: PartitionCounts,
        so_far: tuple[pl.DataFrame, CountEnds],
        follow: Follow,
        people: IntArray | None,
    ) -> tuple[CountEnds, IntArray | None]:
        """Widen the seen ranges by solutions of rows that are sufficient for every text.

        Args:
            people: A solution of such rows, if one is known.

        Returns:
            The bounds, and a solution.
        """
        names, ends = so_far
        left = np.flatnonzero((ends.least > ends.lower) | (ends.greatest < ends.upper))
        try:
            within = build_system(self.plan, chosen, batch, must_list=False)
            if within.joined is None or within.joined.has_many_choices:
                return ends, people
            budget = {"region_seconds": self.options.region_seconds * _SHARE}
            less = self.options.model_copy(update=budget)
            own = replace(self, counts=chosen, options=less)
            solved = own.solved(within, (False,), people)
            found, seen = own.ends_of(solved, follow, names[left].select(KEY))
        except ContradictionError:
            return ends, people
        if found.height < len(left):
            return ends, people
        if not solved[0].unsolved.any():
            people = solved[0].people
        least, greatest = ends.least.copy(), ends.greatest.copy()
        least[left] = np.minimum(least[left], seen.least)
        greatest[left] = np.maximum(greatest[left], seen.greatest)
        ends = replace(ends, least=least, greatest=greatest)
        if not within.joined.is_exact:
            return ends, people
        lower, upper = ends.lower.copy(), ends.upper.copy()
        lower[left] = np.maximum(lower[left], seen.lower)
        upper[left] = np.minimum(upper[left], seen.upper)
        return replace(ends, lower=lower, upper=upper), people

    @cached_property
    def _units_alone(self) -> JointAudit | None:
        """Return the audit by the units' own tables; None if that proves no more."""
        own = plan_of_units(self.plan, self.published.coverage)
        if own is None:
            return None
        counts = arrange_counts(own, self.published, joins_statistics=True)
        return replace(self, plan=own, counts=counts)

    def narrowed(
        self, batch: slice, names: pl.DataFrame, ends: CountEnds, follow: Follow
    ) -> CountEnds:
        """Tighten bounds by those that this audit's tables prove for some whole regions.

        A further count never invalidates a proof, but with it candidates may be too many to list.
        """
        system = build_system(self.plan, self.counts, batch, must_list=False)
        if not system.is_listed.any():
            return ends
        known, own = self.ends_of(self.solved(system, (False,)), follow)
        proven = names.select(KEY).join(
            known.select(KEY).with_columns(lower=pl.Series(own.lower), upper=pl.Series(own.upper)),
            on=KEY,
            how="left",
            maintain_order="left",
        )
        return replace(
            ends,
            lower=np.maximum(ends.lower, proven["lower"].fill_null(0).to_numpy()),
            upper=np.minimum(ends.upper, proven["upper"].fill_null(OPEN).to_numpy()),
        )
