"""A publication more never takes away a proof: of protected counts, by tables and by levels."""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace
from unittest import mock

import numpy as np
import polars as pl
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

import recon_cli as recon
from recon_cli.capabilities.audit.options import Audit
from recon_cli.capabilities.audit.question import audit_counts
from recon_cli.capabilities.reconstruct.cliques import CliqueForm
from recon_cli.capabilities.solvar.histogram import histogram_columns
from recon_cli.capabilities.solvar.options import Mode
from recon_cli.model.planning import coverage_of_units
from recon_cli.publication import Publication
from recon_cli.schema import Release, parse_release
from tests.capabilities.reconstruct.test_protected import (
    enumerate_or_skip,
    protected_release,
    under,
)
from tests.support.enumeration import histogram

SEEDS = st.integers(0, 2**32 - 1)
many = settings(
    max_examples=int(os.environ.get("RECON_EXAMPLES", "8")),
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
#: Candidates that are listed: so few that regions are held as arrays, and as many as there are.
LISTED = st.sampled_from([6, 30, 200_000])


def of_units(release: Release, published: Publication) -> Publication:
    """The same without the counts of coarser places."""
    units = published.geounits.filter(pl.col("level") == release.geography.unit.name)["geoid"]
    return replace(
        published,
        counts=published.counts.filter(pl.col("geoid").is_in(units.implode())),
        coverage=coverage_of_units(release, published.coverage),
    )


@many
@given(
    seed=SEEDS,
    exact=st.sampled_from([0.0, 0.3]),
    listed=LISTED,
    seconds=st.sampled_from([1e-6, 5.0]),
    mode=st.sampled_from(["relaxed", "exact"]),
)
def test_counts_of_coarser_places_take_no_proof_away(
    seed: int, exact: float, listed: int, seconds: float, mode: Mode
) -> None:
    """Whatever the effort and however little can be listed."""
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    every = enumerate_or_skip(release, published)
    alone = of_units(release, published)
    columns = histogram_columns(release, release.tables, published.coverage)
    assume(histogram_columns(release, release.tables, alone.coverage) == columns)
    assume(not alone.is_exact)
    records = recon.reconstruct(release, published, seed=seed).microdata
    assume(not records.is_empty() and not any(records.null_count().row(0)))
    with mock.patch("recon_cli.model.system.MOST_CANDIDATES", listed):
        less, more = (
            recon.measure_variability(release, each, records, mode=mode, unit_seconds=seconds)
            for each in (alone, published)
        )
    unit, key = release.geoid_column, [release.geoid_column, *columns]
    both = less.units.join(more.units, on=unit, suffix="_more")
    assert both.height == less.units.height
    assert (both["certain_records"] <= both["certain_records_more"]).all()
    upper = both.select(pl.col("solvar_upper_pct", "solvar_upper_pct_more").fill_null(np.inf))
    assert (upper["solvar_upper_pct_more"] <= upper["solvar_upper_pct"] + 1e-9).all()
    cells = less.intervals.join(more.intervals, on=key, how="full", suffix="_more", coalesce=True)
    # A cell that is not there any more is empty; one that was not there was.
    assert (cells["lower"].fill_null(0) <= cells["lower_more"].fill_null(0)).all()
    known = cells.filter(pl.col("lower").is_not_null(), pl.col("lower_more").is_not_null())
    assert (known["upper_more"].fill_null(2**31 - 1) <= known["upper"].fill_null(2**31 - 1)).all()
    assert cells.filter(pl.col("lower").is_null(), pl.col("upper_more") > 0).is_empty()
    others = [histogram(release, each) for each in every]
    for geoid, *labels, lower, upper_end, _ in more.intervals.rows():
        counts = [other.get((geoid, tuple(labels)), 0) for other in others]
        assert lower <= min(counts)
        assert upper_end is None or max(counts) <= upper_end


#: Plots count pairs of three kinds, their town eight years.
KINDS = parse_release(
    """
release: kinds
title: Plots of a town
features:
  kind: {categories: [a, b, c]}
  year: {range: 0..7}
geography: {levels: [{level: plot, digits: 4}, {level: town, digits: 3}], partition: town}
microdata: [kind, year]
histogram: [kind]
families:
  - levels: [plot]
    cells: [total, {where: {kind: [a, b]}}, {where: {kind: [b, c]}}, {where: {kind: [a, c]}}]
    tables: {K: {}}
  - {levels: [town], cells: [{by: year}], tables: {Y: {}}}
""",
    source="kinds",
)


def test_a_region_that_is_not_listed_keeps_what_its_units_prove() -> None:
    plots = [
        (f"A10{plot}", "K", cell, n) for plot in (1, 2) for cell, n in enumerate((9, 6, 6, 6), 1)
    ]
    town = [("A10", "Y", cell, 3) for cell in range(1, 9)]
    found = []
    for counts in (plots, plots + town):
        rows = pl.DataFrame(counts, schema=["geoid", "table", "cell", "count"], orient="row")
        published = recon.publish(
            KINDS, rows, geounits=["A101", "A102"], protection=under({"rounded": {"base": 3}})
        )
        records = pl.DataFrame(
            {
                "geoid_plot": ["A101", "A102"] * 9,
                "kind": pl.Series(["a", "b", "c"] * 6, dtype=KINDS.features[0].dtype),
                "year": pl.Series([at // 2 % 8 for at in range(18)], dtype=pl.Int16),
            }
        )
        with mock.patch("recon_cli.model.system.MOST_CANDIDATES", 6):
            found.append(recon.measure_variability(KINDS, published, records))
    # Six of a kind at most: seven with four of the others would be nine in two kinds.
    assert [each.intervals["upper"].to_list() for each in found] == [[6] * 6] * 2
    assert (
        found[0].units["solvar_upper_pct"].to_list() == found[1].units["solvar_upper_pct"].to_list()
    )


@many
@given(seed=SEEDS, exact=st.sampled_from([0.0, 0.3]), listed=LISTED, by_cliques=st.booleans())
def test_the_audit_keeps_what_units_prove(
    seed: int, exact: float, listed: int, by_cliques: bool
) -> None:
    release, _, published = protected_release(seed, exact)
    assume(not published.is_exact)
    alone = of_units(release, published)
    assume(not alone.is_exact)
    with (
        mock.patch("recon_cli.model.system.MOST_CANDIDATES", listed),
        nullcontext() if by_cliques else mock.patch.object(CliqueForm, "is_narrow", new=False),
    ):
        less, more = (
            audit_counts(release, each, release.tables, Audit(seed=0, region_seconds=5.0))
            for each in (alone, published)
        )
    key = ["geoid", "table", "cell"]
    both = less.join(more, on=key, suffix="_more")
    assert (both["least"] <= both["least_more"]).all()
    ends = both.select(pl.col("greatest", "greatest_more").fill_null(2**31 - 1))
    assert (ends["greatest_more"] <= ends["greatest"]).all()
    assert both.filter(status="recovered", is_exact=True)["status_more"].is_in(["recovered"]).all()


def test_an_audit_that_cannot_list_a_region_keeps_what_its_units_prove() -> None:
    plots = [(f"A10{p}", "K", cell, n) for p in (1, 2) for cell, n in ((2, 6), (3, 6), (4, 6))]
    plots += [(f"A10{p}", "K", 1, 12) for p in (1, 2)]
    town = [("A10", "Y", cell, 3) for cell in range(1, 9)]
    found = []
    for counts in (plots, plots + town):
        rows = pl.DataFrame(counts, schema=["geoid", "table", "cell", "count"], orient="row")
        published = recon.publish(
            KINDS, rows, geounits=["A101", "A102"], protection=under({"rounded": {"base": 3}})
        )
        with (
            mock.patch("recon_cli.model.system.MOST_CANDIDATES", 6),
            mock.patch.object(CliqueForm, "is_narrow", new=False),
        ):
            rated = audit_counts(KINDS, published, KINDS.tables, Audit(seed=0, region_seconds=5.0))
        found.append(rated.filter(table="K").select("geoid", "cell", "least", "greatest"))
    # Twice the total is the sum of the three pairs: 24 at most.
    assert found[0].filter(cell=1)["greatest"].to_list() == [12, 12]
    assert (found[1]["least"] >= found[0]["least"]).all()
    assert (found[1]["greatest"] <= found[0]["greatest"]).all()
