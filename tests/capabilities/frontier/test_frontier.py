"""Expected errors: printed figures, simulation, finite differences, full least squares."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import check_grad

from recon_cli.arrays import FloatArray
from recon_cli.capabilities.frontier.matrix_mechanism import (
    STRATEGIES,
    SpanError,
    _p_identity,
    haar,
    hierarchy_errors,
    hierarchy_variances,
    identity,
    level_variances,
    optimised,
    strategy_error,
    tree,
)
from recon_cli.capabilities.frontier.randomized_response import (
    estimate,
    privacy_loss,
    response_accuracy,
    truthful_share,
    variance,
)
from recon_cli.capabilities.frontier.release import (
    NoiseLaw,
    best_epsilon,
    best_split,
    frontier,
    rho_of,
    table_workload,
    user_errors,
    users_weights,
    weighted_error,
)
from recon_cli.schema import load_release
from recon_cli.statement.noise import Geometric, geometric_variance
from tests.support.command_line import recon
from tests.support.paths import ROOT


def prefix(cells: int) -> FloatArray:
    return np.tril(np.ones((cells, cells)))


def ranges(cells: int) -> FloatArray:
    found = [
        (np.arange(cells) >= low) & (np.arange(cells) <= high)
        for low, high in itertools.combinations_with_replacement(range(cells), 2)
    ]
    return np.array(found, dtype=float)


def marginals(sizes: tuple[int, ...], orders: set[int]) -> FloatArray:
    cells = np.array(list(np.ndindex(sizes)))
    rows = []
    for chosen in itertools.product((True, False), repeat=len(sizes)):
        if sum(chosen) in orders:
            used = [f for f, c in enumerate(chosen) if c]
            every = np.ndindex(tuple(sizes[f] for f in used))
            rows += [(cells[:, used] == values).all(axis=1) for values in every]
    return np.array(rows, dtype=float)


def rmse(Q: FloatArray, name: str) -> float:
    error = strategy_error(Q, STRATEGIES[name](Q))
    return float(np.sqrt(error.laplace_variance(1.0).mean()))


@pytest.mark.parametrize(
    ("Q", "expected"),
    [
        (np.eye(64), (1.414, 1.414, 7.711, 5.717, 1.414)),
        (prefix(64), (8.062, 90.51, 9.421, 9.374, 5.322)),
        (ranges(64), (6.633, 261.96, 11.28, 10.11, 5.562)),
        (marginals((8, 4, 4), {2}), (3.098, 3.824, None, None, 3.098)),
        (marginals((8, 4, 2), {0, 1, 2, 3}), (2.754, 7.790, None, None, 2.754)),
    ],
    ids=["cells", "prefix sums", "ranges", "two-way", "all marginals"],
)
def test_errors_of_the_prototype(Q: FloatArray, expected: tuple[float | None, ...]) -> None:
    for name, printed in zip(STRATEGIES, expected, strict=True):
        if printed is not None:
            # descent may end elsewhere, never above the identity
            tolerance = 0.02 if name == "optimised" else 5e-4
            assert rmse(Q, name) == pytest.approx(printed, rel=tolerance), name


@pytest.mark.parametrize("name", STRATEGIES)
def test_expected_error_is_that_of_simulation(name: str) -> None:
    Q, rng = prefix(16), np.random.default_rng(5)
    A = STRATEGIES[name](Q)
    error = strategy_error(Q, A)
    x = rng.integers(0, 9, 16).astype(float)
    noise = rng.laplace(scale=error.sensitivity / 0.7, size=(4000, len(A)))
    answers = (A @ x + noise) @ np.linalg.pinv(A).T @ Q.T
    squares = ((answers - Q @ x) ** 2).sum(axis=1)
    total = error.laplace_variance(0.7).sum()
    assert abs(squares.mean() - total) < 4 * squares.std() / math.sqrt(4000)
    assert answers.mean(axis=0) == pytest.approx(Q @ x, abs=6 * math.sqrt(total / 4000))


def test_total_of_16_prefix_sums_by_tree() -> None:
    error = strategy_error(prefix(16), tree(prefix(16)))
    assert error.laplace_variance(1.0).sum() == pytest.approx(601.0, abs=0.1)


def test_geometric_noise_on_integers_is_a_little_less_than_laplace() -> None:
    k = np.arange(-4000, 4001)
    p = (1 - math.exp(-0.1)) / (1 + math.exp(-0.1)) * np.exp(-0.1 * abs(k))
    assert geometric_variance(0.1) == pytest.approx(float(p @ k**2))
    assert Geometric(epsilon=Fraction("0.1")).noise_variance == geometric_variance(0.1)
    error = strategy_error(np.eye(3), identity(np.eye(3)))
    assert error.geometric_variance(1.0)[0] < error.laplace_variance(1.0)[0]


def test_a_strategy_that_does_not_span_is_refused() -> None:
    with pytest.raises(SpanError, match="rank 3 does not determine 4 queries"):
        strategy_error(np.eye(4), np.eye(4)[:3])
    strategy_error(np.ones((1, 4)), np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]]))


def test_gradient_of_the_optimised_strategy() -> None:
    rng, gram = np.random.default_rng(1), prefix(6).T @ prefix(6)

    def value(t: FloatArray) -> float:
        return _p_identity(t.reshape(2, 6), gram)[0]

    def gradient(t: FloatArray) -> FloatArray:
        return _p_identity(t.reshape(2, 6), gram)[1]

    start = rng.random(12)
    assert check_grad(value, gradient, start) < 1e-4 * np.abs(gradient(start)).max()
    A = optimised(prefix(32))
    assert_allclose(np.abs(A).sum(axis=0), 1)


def test_haar_of_any_number_of_cells_spans() -> None:
    for cells in (1, 2, 3, 5, 8):
        strategy_error(np.eye(cells), haar(np.eye(cells)))
        strategy_error(np.eye(cells), tree(np.eye(cells)))


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_slope_of_randomized_response_by_finite_differences(epsilon: float) -> None:
    h, half = 1e-5, epsilon / 2
    ends = [response_accuracy(epsilon + by, 0.1, 1000) for by in (h, -h)]
    slope = math.cosh(half) / (4 * 1000 * math.sinh(half) ** 3)
    assert (ends[0] - ends[1]) / (2 * h) == pytest.approx(slope, rel=1e-6)
    # dI/dρ of the corrected (B-11), by the variance itself
    rho, share = truthful_share(epsilon), 0.1
    numeric = -(variance(rho + h, share, 1000) - variance(rho - h, share, 1000)) / (2 * h)
    assert numeric == pytest.approx(1 / (2 * 1000 * rho**3), rel=1e-5)


@pytest.mark.parametrize(
    ("rho", "sd"), [(0.1, 0.1576), (0.25, 0.0620), (0.5, 0.0290), (0.75, 0.0169), (0.9, 0.0122)]
)
def test_randomized_response_of_a_thousand(rho: float, sd: float) -> None:
    assert math.sqrt(variance(rho, 0.1, 1000)) == pytest.approx(sd, abs=6e-5)
    rng = np.random.default_rng(2)
    sensitive, other = (rng.random((2000, 1000)) < share for share in (0.1, 0.5))
    answers = np.where(rng.random((2000, 1000)) < rho, sensitive, other)
    found = np.array([estimate(mean, rho) for mean in answers.mean(axis=1)])
    assert found.mean() == pytest.approx(0.1, abs=4 * sd / math.sqrt(2000))
    assert found.std() == pytest.approx(sd, rel=0.06)


def test_privacy_loss_by_the_innocuous_bit() -> None:
    assert [round(privacy_loss(0.5, mu), 3) for mu in (0.5, 0.25, 0.1)] == [1.099, 1.609, 2.398]
    assert truthful_share(1.0) == pytest.approx(math.tanh(0.5))
    with pytest.raises(ValueError, match="below 1"):
        privacy_loss(1.0)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_accuracy_of_any_share_and_innocuous_answer(epsilon: float) -> None:
    for share in (0.0, 0.1, 0.7):
        closed = -1 / (4 * 500 * math.sinh(epsilon / 2) ** 2)
        assert response_accuracy(epsilon, share, 500) == pytest.approx(closed)
        assert response_accuracy(epsilon, share, 500, 0.25) < 0
    # by the probability of a yes with the trait and without
    rho, mu = truthful_share(epsilon, 0.25), 0.25
    yes = [rho + (1 - rho) * mu, (1 - rho) * mu]
    p = 0.3 * yes[0] + 0.7 * yes[1]
    lost = 0.3 * 0.7 - p * (1 - p) / (yes[0] - yes[1]) ** 2
    assert response_accuracy(epsilon, 0.3, 1, mu) == pytest.approx(lost)


def test_frontier_of_one_count() -> None:
    printed = {0.1: (316.1, 14.14), 0.5: (62.59, 2.799), 2.0: (13.45, 0.602), 8.0: (0.58, 0.026)}
    for epsilon, (response, geometric) in printed.items():
        people = 1000 * math.sqrt(-response_accuracy(epsilon, 0.1, 1000))
        assert people == pytest.approx(response, rel=5e-3)
        assert math.sqrt(geometric_variance(epsilon)) == pytest.approx(geometric, rel=2e-2)


def test_hierarchy_is_full_least_squares() -> None:
    leaves = np.eye(12)
    middle = np.kron(np.eye(3), np.ones((1, 4)))
    A = np.vstack([np.ones((1, 12)), middle, leaves])
    own = [5.0, 2.0, 3.0]
    weight = np.repeat([1 / v for v in own], [1, 3, 12])
    covariance = np.linalg.inv(A.T @ (weight[:, None] * A))
    expected = [float(q @ covariance @ q) for q in (A[0], middle[0], leaves[0])]
    assert hierarchy_variances(own, [3, 4]) == pytest.approx(expected)
    with pytest.raises(ValueError, match="3 levels need 2"):
        hierarchy_variances(own, [3])


@pytest.mark.parametrize(
    ("shares", "printed"),
    [
        ((0, 0, 0, 0, 0, 1), (3557, 498, 63.3, 13.2, 7.6, 1.4)),
        ((1 / 6,) * 6, (8.4, 8.3, 8.2, 7.2, 7.2, 8.3)),
        ((0.2,) * 5 + (0,), (7.0, 6.9, 6.8, 6.0, 6.1, math.inf)),
    ],
)
def test_census_hierarchies(shares: tuple[float, ...], printed: tuple[float, ...]) -> None:
    found = hierarchy_variances(level_variances(1.0, shares), [51, 62, 23, 3, 29])
    for variance_, sd in zip(found, printed, strict=True):
        assert math.sqrt(variance_) == pytest.approx(sd, abs=0.051, rel=1e-3)


def test_best_split_beats_all_others_on_a_grid() -> None:
    weights, errors = np.array([1.0, 4.0, 0.5]), np.array([10.0, 3.0, 100.0])
    best = best_split(weights, errors)
    assert best.sum() == pytest.approx(1)
    least = (weights * errors / best**2).sum()
    steps = [(a, b, 20 - a - b) for a in range(1, 19) for b in range(1, 20 - a)]
    assert least <= min((weights * errors / (np.array(s) / 20) ** 2).sum() for s in steps)
    with pytest.raises(ValueError, match="at least one"):
        best_split(np.zeros(2), np.ones(2))


def test_gaussian_budgets_add_up_in_rho() -> None:
    release = load_release("clinic_visits")
    table = release.table_by_name["PATIENTS"]
    law = NoiseLaw("gaussian", delta=1e-6)
    rows = frontier(release, [table], {}, [2.0], law)
    even = rows.filter(split="even", level="clinic", strategy="identity").row(0, named=True)
    cells = table_workload(release, table).sum(axis=1)  # histogram cells in each count
    assert even["rmse"] ** 2 == pytest.approx(cells.mean() / (2 * rho_of(2.0, 1e-6) / 2))
    weights, errors = np.array([1.0, 4.0]), np.array([9.0, 1.0])
    split = best_split(weights, errors, power=1)
    grid = np.linspace(0.01, 0.99, 99)
    least = (weights[0] * errors[0] / grid + weights[1] * errors[1] / (1 - grid)).min()
    assert (weights * errors / split).sum() <= least


def test_errors_of_a_hierarchy_as_a_frame() -> None:
    found = hierarchy_errors([51, 62, 23, 3, 29], [1.0, 2.0])
    even = found.filter(budget="even", epsilon=1.0).sort("depth")["rmse"].round(1).to_list()
    assert even == [8.4, 8.3, 8.2, 7.2, 7.2, 8.3]
    unknown = found.filter(budget="not finest", depth=5)["rmse"]
    assert unknown.null_count() == 2
    half = found.filter(budget="finest", epsilon=2.0, depth=5)["rmse"].item()
    assert half == pytest.approx(math.sqrt(2) / 2)


def test_best_epsilon_is_where_the_slope_is_the_price() -> None:
    epsilon = best_epsilon(benefit=2.0, cost=0.01, error=3.0)
    grid = epsilon * np.geomspace(0.5, 2, 2001)
    utility = 2.0 * -3.0 / grid**2 - 0.01 * grid
    assert grid[utility.argmax()] == pytest.approx(epsilon, rel=1e-3)


def test_replacing_a_record_costs_twice_as_much_as_adding_one() -> None:
    Q = np.eye(4)
    added, replaced = (strategy_error(Q, Q, replaced=each) for each in (False, True))
    assert replaced.sensitivity == 2 * added.sensitivity
    assert replaced.laplace == pytest.approx(4 * added.laplace)
    assert replaced.gaussian == pytest.approx(2 * added.gaussian)
    everybody = np.vstack([Q, np.ones(4)])  # a total that is not told apart by values
    assert strategy_error(Q, everybody, replaced=True).sensitivity == 2


def test_errors_of_a_release_by_hand() -> None:
    release = load_release("clinic_visits")
    patients = release.table_by_name["PATIENTS"]
    rows = frontier(release, [patients], {}, [1.0], NoiseLaw())
    assert rows["level"].unique().sort().to_list() == ["clinic", "district"]
    found = rows.filter(level="clinic", strategy="itself", split="even").row(0, named=True)
    # a person is counted three times a level, and each level has half of ε
    Q = table_workload(release, patients)
    spread = np.diag(Q @ np.linalg.pinv(Q)).mean()
    assert found["rmse"] == pytest.approx(math.sqrt(2 * (3 / 0.5) ** 2 * spread))
    least = rows.filter(level="clinic", split="even").sort("rmse").row(0, named=True)
    assert least["is_best"]
    assert rho_of(1.0, 1e-10) == pytest.approx(0.01063, abs=1e-4)


def test_weights_move_the_budget() -> None:
    release = load_release("clinic_visits")
    tables = release.select_tables(("PATIENTS", "SMOKERS"))
    rows = frontier(release, tables, {"PATIENTS": 8.0}, [1.0], NoiseLaw("geometric"))
    chosen = rows.filter(split="optimum", is_best=True)
    assert chosen["share"].sum() == pytest.approx(1)
    by_table = dict(chosen.filter(level="clinic").select("table", "share").iter_rows())
    assert by_table["PATIENTS"] / by_table["SMOKERS"] == pytest.approx(2, rel=0.05)  # ∛8
    assert "optimised" not in rows["strategy"]


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    shared = ["-c", ROOT / "configs" / "clinic.yaml", "--work", tmp_path]
    small = ["--set", "frontier.tables=[PATIENTS]", "--set", "frontier.weights={PATIENTS: 2}"]
    small += ["--set", "frontier.branching=[6, 9]", "--set", "frontier.price=50"]
    result = recon("plan", "frontier", *shared, *small)
    assert "optimised" in result.stdout or "identity" in result.stdout
    page = (tmp_path / "frontier" / "frontier.md").read_text()
    assert "randomized response" in page
    assert "level 2" in page
    assert "the best privacy loss" in page
    assert "up to date" in recon("plan", "frontier", *shared, *small).stdout
    priced = ["--set", "frontier.price=1", "--set", "frontier.noise=gaussian"]
    assert (
        "laplace noise, not gaussian" in recon("plan", "frontier", *shared, *priced, code=2).stderr
    )
    wrong = recon("plan", "frontier", *shared, "--set", "frontier.weights={AGES: 2}", code=2)
    assert "'AGES' is not among the tables" in wrong.stderr


def test_users_share_what_accuracy_is_worth() -> None:
    release = load_release("clinic_visits")
    tables = release.select_tables(("PATIENTS", "SMOKERS"))
    users = {"city": ({"PATIENTS": 1.0}, 2.0), "health": ({"PATIENTS": 1.0, "SMOKERS": 3.0}, 1.0)}
    weights = users_weights(users)
    assert weights == {"PATIENTS": 3.0, "SMOKERS": 3.0}
    errors = frontier(release, tables, weights, [1.0, 2.0], NoiseLaw())
    found = user_errors(errors, users)
    assert found.group_by("epsilon").agg(pl.col("share").sum())["share"].to_list() == [1.0, 1.0]
    best = errors.filter(split="optimum", is_best=True, epsilon=1.0)
    city = best.filter(table="PATIENTS")["rmse"].to_numpy() ** 2
    row = found.filter(user="city", epsilon=1.0).row(0, named=True)
    assert row["rmse"] == pytest.approx(math.sqrt(city.mean()))
    worth = 2.0 * float(city.sum()) / weighted_error(errors, weights)[1.0]
    assert row["share"] == pytest.approx(worth)


def test_users_on_the_page(tmp_path: Path) -> None:
    shared = ["-c", ROOT / "configs" / "clinic.yaml", "--work", tmp_path]
    tables = ["--set", "frontier.tables=[PATIENTS, SMOKERS]"]
    users = ["--set", "frontier.users={city: {weights: {PATIENTS: 1}, benefit: 2}}"]
    recon("plan", "frontier", *shared, *tables, *users)
    assert "| city |" in (tmp_path / "frontier" / "frontier.md").read_text()
    wrong = ["--set", "frontier.users={city: {weights: {AGES: 1}}}"]
    assert (
        "users.city.weights: 'AGES'"
        in recon("plan", "frontier", *shared, *tables, *wrong, code=2).stderr
    )
    both = [*users, "--set", "frontier.weights={PATIENTS: 1}"]
    assert "one of the two" in recon("plan", "frontier", *shared, *tables, *both, code=2).stderr
