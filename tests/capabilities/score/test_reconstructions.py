"""The study's 100% interval of agreement against every reconstruction of tiny releases."""

from __future__ import annotations

from collections import Counter

import polars as pl
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recon_cli.capabilities.link.partition import AGREEMENT, TALLIES, TARGETS
from recon_cli.capabilities.reconstruct.question import reconstruct
from recon_cli.capabilities.score.collect import PEOPLE, Partition, collect, with_differing
from recon_cli.capabilities.score.control import Control
from recon_cli.capabilities.score.rates import Rules, agreement_rates
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.solvar.question import measure_variability
from recon_cli.page.sizes import ALL, Sizes
from tests.capabilities.solvar.test_variability import Histogram, found_histogram, histogram, setup
from tests.support.properties import SEEDS, examples


def shared(left: Histogram, right: Histogram, unit: str) -> int:
    return sum(min(n, right[key]) for key, n in left.items() if key[0] == unit)


@examples(20)
@example(seed=123813, count=1, at=0)  # somebody where the reconstruction has nobody
@given(seed=SEEDS, count=st.integers(1, 5), at=st.integers(0, 600))
def test_no_reconstruction_agrees_outside_its_limits(seed: int, count: int, at: int) -> None:
    release, published, every = setup(seed, count, hide=False)
    microdata = reconstruct(release, published, release.tables, seed=seed).microdata
    question = Solvar(mode="exact", seed=1, unit_seconds=10.0)
    result = measure_variability(release, published, release.tables, microdata, question)
    ours = found_histogram(microdata, release, result.columns)
    others = [histogram(release, each, result.columns) for each in every]
    truth = others[at % len(others)]
    place = release.geoid_column
    population = Counter(key[0] for key in truth.elements())
    assume(population)
    names = [name for name in PEOPLE if name not in ("units", "differing", "population")]
    units = pl.DataFrame(list(population.items()), schema=[place, "population"], orient="row")
    frame = pl.DataFrame(
        [(unit, "ours", "truth", 0, None, shared(ours, truth, unit)) for unit in population],
        schema={place: pl.String, **AGREEMENT},
        orient="row",
    )
    differing = with_differing(result.units)
    partition = Partition(
        "01",
        units.with_columns(pl.lit(0).alias(name) for name in names),
        pl.DataFrame(schema={place: pl.String, **TARGETS, "draw": pl.Int16}),
        pl.DataFrame(schema={place: pl.String, **TALLIES, "draw": pl.Int16}),
        frame,
        None,
        differing,
    )
    sizes = Sizes((1,))
    sums = collect(partition, place, sizes, draws=1, resamples=0, seed=1)
    rates = agreement_rates(sums, "t", None, Rules(sizes, Control(), 95.0), "ours")
    row = rates.filter(rate="agree_binned", block_size=ALL).row(0, named=True)
    assert rates.filter(rate="agree_exact")["least"].null_count() == 2
    agreements = [
        100 * sum(shared(other, truth, unit) for unit in population) / population.total()
        for other in others
    ]
    assert row["least"] - 1e-9 <= min(agreements)
    assert max(agreements) <= row["most"] + 1e-9
    assert 0 <= row["least"] <= row["pct"] <= row["most"] <= 100
    if result.units["solvar_upper_pct"].sum() == 0:
        assert row["least"] == row["pct"] == row["most"]
