"""The YAML form of a strategy, packaged or from a file, read for a release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib import resources
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from recon_cli.budget import as_written, exact
from recon_cli.capabilities.measurements.strategy import (
    ONE_CHANGE,
    ONE_RECORD,
    Measurement,
    Mechanism,
    Neighbours,
    Pass,
    Query,
    Strategy,
    table_sensitivity,
)
from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema import Feature, Recode, Release
from recon_cli.schema.load import build_recode
from recon_cli.schema.spec import RecodeSpec
from recon_cli.schema.validation import describe
from recon_cli.statement.noise import Gaussian, Geometric, published
from recon_cli.strict_yaml import parse_yaml, read_text

_FOLDER: Final = "strategies"


Budget = Annotated[str, BeforeValidator(as_written)]


class _Spec(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _LevelSpec(_Spec):
    share: Budget = "1"
    queries: dict[str, Budget] = Field(min_length=1)


class _PassSpec(_Spec):
    queries: list[str] = Field(min_length=1)
    levels: list[str] | None = None


class StrategySpec(_Spec):
    """The YAML form of a strategy.

    Attributes:
        strategy: Name of the strategy.
        title: One line for people.
        mechanism: ``gaussian`` spends ρ, ``geometric`` spends ε.
        neighbours: ``replace``: data sets that differ in the values of one record;
            ``add-or-remove``: in one record.
        delta: δ at which ε of a Gaussian mechanism is given.
        rho: Total that all shares refer to, for ``gaussian``; default 1.
        epsilon: Total that all shares refer to, for ``geometric``; default 1.
        recodes: As in a release schema; a release's own need not be repeated.
        queries: Name → features and recodes that its cells are combinations of, or the name of a
            table of the release.
        levels: Level → its share, and the share of each of its queries; ``nation`` is the whole.
        passes: Queries that `recon protect topdown` fits and rounds before the others, in this
            order, at some levels or at all; the last pass has all others.
        rounding: Queries whose sums `recon protect topdown` keeps as near as it can when it rounds,
            in this order, each within the cells of the one before.
    """

    strategy: str
    title: str = ""
    mechanism: Mechanism = "gaussian"
    neighbours: Neighbours = "replace"
    delta: Budget = "1/10000000000"
    rho: Budget | None = None
    epsilon: Budget | None = None
    recodes: dict[str, RecodeSpec] = Field(default_factory=dict)
    queries: dict[str, str | list[str]] = Field(min_length=1)
    levels: dict[str, _LevelSpec] = Field(min_length=1)
    passes: list[_PassSpec] = Field(default_factory=list)
    rounding: list[str] = Field(default_factory=list)


def packaged_strategies() -> tuple[str, ...]:
    """List the names of the packaged strategies.

    >>> packaged_strategies()
    ('dhc_2020', 'pl94_2020')
    """
    folder = resources.files(__package__) / _FOLDER
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def read_strategy(name_or_path: str) -> tuple[str, str]:
    """Read a packaged strategy, or a file; return also its name in messages.

    Raises:
        ConfigError: There is no such strategy.
    """
    if name_or_path.endswith((".yaml", ".yml")):
        return read_text(Path(name_or_path)), name_or_path
    if name_or_path not in packaged_strategies():
        known = ", ".join(packaged_strategies())
        raise ConfigError(
            f"no strategy {name_or_path!r} (packaged: {known}; or the path of a .yaml file)"
        )
    packaged = resources.files(__package__) / _FOLDER / f"{name_or_path}.yaml"
    return packaged.read_text(encoding="utf-8"), f"{name_or_path}.yaml"


def load_strategy(
    name_or_path: str,
    release: Release,
    without: Sequence[str] = (),
    scale: Fraction = Fraction(1),
) -> Strategy:
    """Load a strategy for a release.

    Args:
        name_or_path: Name of a packaged strategy, or the path of a YAML file.
        release: Has the features that its recodes are of.
        without: Features that the release does not have; queries are measured without them.
        scale: Factor of every budget.

    Raises:
        ConfigError: There is no such strategy, or something in it is wrong; names the key.
    """
    text, source = read_strategy(name_or_path)
    try:
        spec = StrategySpec.model_validate(parse_yaml(text, source=source).data)
    except ValidationError as error:
        raise ConfigError(f"{source}: {describe(error, StrategySpec)}") from error
    return _Reader(spec, source, release, tuple(without), scale).strategy()


@dataclass(frozen=True)
class _Reader:
    spec: StrategySpec
    source: str
    release: Release
    without: tuple[str, ...]
    scale: Fraction

    def strategy(self) -> Strategy:
        spec = self.spec
        self._require_absent()
        whole, delta = self._whole(), self._exact("delta", spec.delta)
        if not 0 < delta < 1:
            raise self._wrong("delta", f"a number above 0 and below 1 is expected, found {delta}")
        queries = {name: self._query(name, of) for name, of in spec.queries.items()}
        tables = [query for query in queries.values() if query.table is not None]
        if tables and len(tables) < len(queries):
            raise self._wrong("queries", "tables and combinations of columns exclude each other")
        levels = {
            level: self._measurements(level, form, whole, queries)
            for level, form in spec.levels.items()
        }
        unknown = [name for name in spec.rounding if name not in queries]
        if unknown:
            known = ", ".join(queries)
            raise self._wrong("rounding", f"no query {unknown[0]!r} (queries: {known})")
        return Strategy(
            spec.strategy,
            spec.title,
            spec.mechanism,
            spec.neighbours,
            delta,
            levels,
            tuple(queries[name] for name in spec.rounding),
            tuple(self._pass(i, form) for i, form in enumerate(spec.passes)),
        )

    def _pass(self, i: int, form: _PassSpec) -> Pass:
        spec = self.spec
        for key, names, known in (
            ("queries", form.queries, list(spec.queries)),
            ("levels", form.levels or (), list(spec.levels)),
        ):
            unknown = [name for name in names if name not in known]
            if unknown:
                raise self._wrong(
                    f"passes[{i}].{key}", f"no {unknown[0]!r} ({key}: {', '.join(known)})"
                )
        return Pass(frozenset(form.queries), frozenset(form.levels or spec.levels))

    def _require_absent(self) -> None:
        known = [name for name in self.without if name in self.release.feature_index]
        if known:
            raise ConfigError(
                f"without: release {self.release.name!r} has the feature {known[0]!r}; only what "
                "it lacks can be left out"
            )

    def _whole(self) -> Fraction:
        """Return the total that all shares refer to."""
        spec = self.spec
        key, other = ("rho", "epsilon") if spec.mechanism == "gaussian" else ("epsilon", "rho")
        if getattr(spec, other) is not None:
            raise self._wrong(other, f"a {spec.mechanism} mechanism has {key}")
        whole = self._exact(key, getattr(spec, key) or "1")
        if whole <= 0:
            raise self._wrong(key, f"a number above 0 is expected, found {getattr(spec, key)}")
        return whole * self.scale

    def _query(self, name: str, of: str | list[str]) -> Query:
        if isinstance(of, str):
            table = self.release.table_by_name.get(of)
            if table is None:
                known = ", ".join(self.release.table_by_name)
                raise self._wrong(
                    f"queries.{name}",
                    f"no table {of!r} in release {self.release.name!r} (tables: {known}; columns "
                    "are a list)",
                )
            return Query(name, table=table)
        columns = [column for each in of if (column := self._column(name, each)) is not None]
        features = [column.feature for column in columns]
        if len(set(features)) < len(features):
            raise self._wrong(f"queries.{name}", "two columns are of one feature")
        return Query(name, tuple(columns))

    def _column(self, query: str, name: str) -> Recode | None:
        """Return the groups that a column distinguishes; None if its feature is left out."""
        where, release = f"queries.{query}", self.release
        form = self.spec.recodes.get(name)
        if name in self.without or (form is not None and form.of in self.without):
            return None
        try:
            if form is None:
                return release.column_groups(name)
            features: dict[str, Feature] = {each.name: each for each in release.features}
            if form.of not in features:
                raise self._wrong(where, self._lacks(form.of))
            recode = build_recode(name, form, features)
        except SchemaError as error:
            if form is None:
                raise self._wrong(where, self._lacks(name)) from error
            raise self._wrong(where, str(error)) from error
        if not recode.is_partition_of(features[recode.feature]):
            raise self._wrong(where, f"{name!r}: every value must be in exactly one group")
        return recode

    def _lacks(self, name: str) -> str:
        return (
            f"release {self.release.name!r} has no column {name!r} "
            f"(it can be left out: without: [{name}])"
        )

    def _measurements(
        self, level: str, form: _LevelSpec, whole: Fraction, queries: Mapping[str, Query]
    ) -> tuple[Measurement, ...]:
        where, found = f"levels.{level}", list[Measurement]()
        share = self._exact(f"{where}.share", form.share)
        for name, text in form.queries.items():
            key = f"{where}.queries.{name}"
            if name not in queries:
                raise self._wrong(key, f"no such query (queries: {', '.join(queries)})")
            budget = whole * share * self._exact(key, text)
            if budget <= 0:
                raise self._wrong(key, f"a number above 0 is expected, found {text}")
            found.append(Measurement(queries[name], budget, self._law(queries[name], budget)))
        return tuple(found)

    def _law(self, query: Query, budget: Fraction) -> Gaussian | Geometric:
        """Return variance Δ₂²/(2ρ), or ε/Δ₁ for each count, rounded so as to spend no more."""
        replaced = self.spec.neighbours == "replace"
        if query.table is None:
            sensitivity = ONE_CHANGE if replaced else ONE_RECORD
        else:
            features = self.release.features
            sensitivity = table_sensitivity(query.table, features, replaced=replaced)
        if self.spec.mechanism == "gaussian":
            return Gaussian(variance=published(sensitivity.squared / (2 * budget), least=True))
        return Geometric(epsilon=published(budget / sensitivity.absolute, least=False))

    def _exact(self, key: str, text: str) -> Fraction:
        try:
            return exact(text)
        except ValueError as error:
            raise self._wrong(key, str(error)) from error

    def _wrong(self, key: str, message: str) -> ConfigError:
        return ConfigError(f"{self.source}: {key}: {message}")
