"""The tables and the page of `recon plan frontier`."""

from __future__ import annotations

from recon_cli.capabilities.frontier import PAGE
from recon_cli.capabilities.frontier import release as core
from recon_cli.capabilities.frontier.bounded_count import bounded_count, count_intervals
from recon_cli.capabilities.frontier.invariant import bits_by_level, posterior_by_feature
from recon_cli.capabilities.frontier.matrix_mechanism import hierarchy_errors
from recon_cli.capabilities.frontier.options import ExactCounts, Frontier
from recon_cli.capabilities.frontier.page import (
    BoundedTables,
    ExactTables,
    Frontiers,
    compose_frontier,
)
from recon_cli.capabilities.frontier.release import best_epsilon
from recon_cli.capabilities.measurements.strategy import NATION
from recon_cli.capabilities.measurements.strategy_file import load_strategy
from recon_cli.capabilities.topdown.stage import invariant_query
from recon_cli.page.html import report_files
from recon_cli.pipeline.run import Run
from recon_cli.schema import Release
from recon_cli.store import Manifest, Transaction
from recon_cli.store.tables import table_files


def write(run: Run, config: Frontier, stage: Transaction) -> Manifest:
    """Compute the errors, and publish ``frontier/``."""
    law = core.NoiseLaw(config.noise, config.delta, is_replaced=config.neighbours == "replace")
    epsilons = sorted(config.epsilon)
    tables = run.release.select_tables(config.tables)
    users = {name: (user.weights, user.benefit) for name, user in config.users.items()}
    weights = config.weights
    if users:
        weights = dict.fromkeys((table.name for table in tables), 0.0) | core.users_weights(users)
    errors = core.frontier(run.release, tables, weights, epsilons, law)
    one = core.one_count(epsilons, config.people, config.delta, config.share, config.innocuous)
    levels = hierarchy_errors(config.branching, epsilons)
    budget = None
    if config.price is not None:
        error = core.weighted_error(errors, weights)[epsilons[0]] * epsilons[0] ** 2
        budget = best_epsilon(1.0, config.price, error)
    exact = None if config.invariant is None else _exact(run.release, config.invariant)
    bounded = None
    if config.at_most is not None:
        most = config.at_most
        bounded = BoundedTables(
            most, bounded_count(most, epsilons), count_intervals(most, epsilons)
        )
    by_user = core.user_errors(errors, users) if users else None
    found = Frontiers(errors, one, levels, budget, exact, bounded, by_user)
    document = compose_frontier(run.release, weights, law, found)
    files = {"errors": errors, "one_count": one, "hierarchy": levels}
    if exact is not None:
        files |= {"invariant": exact.bits, "invariant_posterior": exact.posterior}
    if found.users is not None:
        files["users"] = found.users
    if bounded is not None:
        files |= {"bounded_count": bounded.right, "count_intervals": bounded.tested}
    stage.staging.write_extras("frontier", table_files(files) | report_files(document, PAGE))
    return stage.publish([], notes={"summary": list(document.headline.sentences)})


def _exact(release: Release, asked: ExactCounts) -> ExactTables:
    strategy = load_strategy(asked.strategy, release, asked.without, asked.scale)
    query = invariant_query("frontier.invariant.query", asked.query, strategy)
    known = {NATION, *(level.name for level in release.geography.levels)}
    measured = [level for level in strategy.levels if level in known]
    levels = asked.levels or measured
    return ExactTables(
        f"{query.name} of every {', '.join(levels)}, beside {strategy.name}",
        bits_by_level(release, strategy, query, levels),
        posterior_by_feature(release, strategy, query, measured),
    )
