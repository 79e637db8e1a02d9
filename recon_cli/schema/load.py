"""Load a `Release` from schema YAML."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from recon_cli.errors import SchemaError
from recon_cli.schema.areas import ALL, AreaGeography, AreaSystem
from recon_cli.schema.features import Feature, Recode, Value
from recon_cli.schema.geography import Geography, Level
from recon_cli.schema.release import AttackKeys, Release
from recon_cli.schema.spec import (
    AttackSpec,
    BySpec,
    CellSpec,
    ChoiceSpec,
    Condition,
    FamilySpec,
    FeatureSpec,
    GeographySpec,
    RecodeSpec,
    ReleaseSpec,
    StructuralZeroSpec,
    TallySpec,
    WhereSpec,
)
from recon_cli.schema.statistics import build_statistic
from recon_cli.schema.tables import Cell, StructuralZero, Table
from recon_cli.schema.validation import describe
from recon_cli.strict_yaml import parse_yaml

#: Every combination of options is a value, and every value takes a bit of each cell's masks.
_MOST_OPTIONS = 12
_MOST_VALUES = 10_000
_RANGE = re.compile(r"^(-?\d+)\.\.(-?\d+)$")


def parse_release(text: str, *, source: str) -> Release:
    """Build a release from YAML text; ``source`` names the text in messages.

    Raises:
        SchemaError: The text is not YAML, has unknown keys, or contradicts itself.

    >>> import recon_cli as recon
    >>> text = '''
    ... release: pupils
    ... title: Pupils of a town
    ... features: {sex: {categories: [girl, boy]}}
    ... geography: {levels: [{level: school, digits: 4}], partition: school}
    ... microdata: [sex]
    ... histogram: [sex]
    ... families:
    ...   - levels: [school]
    ...     cells: [total, {by: sex}]
    ...     tables: {PUPILS: {code: "PUP-#"}}
    ... '''
    >>> recon.parse_release(text, source="pupils.yaml")
    <Release pupils: 1 tables, 3 cells; school>
    """
    document = parse_yaml(text, source=source, error=SchemaError)
    try:
        spec = ReleaseSpec.model_validate(document.data)
    except ValidationError as error:
        raise SchemaError(f"{source}: {describe(error, ReleaseSpec)}") from error
    try:
        return _build(spec, _digest(document.data))
    except SchemaError as error:
        raise SchemaError(f"{source}: {error}") from error


def _digest(said: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a schema without ``attack``, which changes no count."""
    counted = {key: value for key, value in said.items() if key != "attack"}
    return hashlib.sha256(ascii(counted).encode()).hexdigest()


def _build(spec: ReleaseSpec, digest: str) -> Release:
    features = {name: build_feature(name, form) for name, form in spec.features.items()}
    recodes = {name: build_recode(name, form, features) for name, form in spec.recodes.items()}
    terms = Terms(features, recodes)
    written = [table for family in spec.families for table in _tables(family, terms)]
    tables = [table for table in written if table.statistic is None]
    return Release(
        name=spec.release,
        title=spec.title,
        features=tuple(features.values()),
        recodes=tuple(recodes.values()),
        geography=_geography(spec.geography),
        tables=tuple(tables),
        statistics=tuple(table for table in written if table.statistic is not None),
        microdata=tuple(spec.microdata),
        histogram=tuple(spec.histogram),
        layouts=spec.layouts,
        digest=digest,
        attack=_attack(spec.attack),
        record=spec.record,
        structural_zeros=tuple(
            build_structural_zero(form, terms, f"structural_zeros[{at}]")
            for at, form in enumerate(spec.structural_zeros)
        ),
    )


def _geography(form: GeographySpec) -> Geography:
    if (form.levels is None) == (form.areas is None):
        raise SchemaError("geography: give exactly one of levels, areas")
    if form.areas is not None:
        if form.unit is None:
            raise SchemaError("geography: areas need `unit`, what they are made of")
        systems = [AreaSystem(area.area, area.within) for area in form.areas]
        return AreaGeography.of(form.unit, systems, form.partition or ALL)
    if form.unit is not None or form.partition is None:
        what = "`unit` is for areas" if form.unit is not None else "levels need `partition`"
        raise SchemaError(f"geography: {what}")
    levels = tuple(Level(level.level, level.digits) for level in form.levels or ())
    return Geography(levels, form.partition)


def extend_release(
    release: Release,
    features: Mapping[str, FeatureSpec],
    structural_zeros: Sequence[StructuralZeroSpec] = (),
) -> Release:
    """Add to a release's records features that no table counts.

    Args:
        features: Name → the further features, in order.
        structural_zeros: Further rules between any features.

    Raises:
        SchemaError: A feature is wrong or there already, or a rule has an unknown name or value.
    """
    added = tuple(build_feature(name, form) for name, form in features.items())
    full = tuple(feature.full for feature in added)
    extended = replace(
        release,
        features=(*release.features, *added),
        microdata=(*release.microdata, *features),
        tables=tuple(_widened(table, full) for table in release.tables),
        statistics=tuple(_widened(table, full) for table in release.statistics),
        structural_zeros=tuple(
            replace(zero, when=(*zero.when, *full), only=(*zero.only, *full))
            for zero in release.structural_zeros
        ),
    )
    terms = Terms({each.name: each for each in extended.features}, {})
    rules = tuple(
        build_structural_zero(form, terms, f"structural_zeros[{at}]")
        for at, form in enumerate(structural_zeros)
    )
    return replace(extended, structural_zeros=(*extended.structural_zeros, *rules))


def _widened(table: Table, full: tuple[int, ...]) -> Table:
    """Add to a table features that it does not distinguish."""
    cells = tuple(cell._replace(masks=(*cell.masks, *full)) for cell in table.cells)
    of = table.statistic
    if of is not None:
        part, base = ((*masks, *full) if masks else () for masks in (of.part, of.base))
        of = replace(of, part=part, base=base)
    return replace(table, cells=cells, statistic=of)


def _attack(form: AttackSpec | None) -> AttackKeys | None:
    if form is None:
        return None
    return AttackKeys(tuple(form.exact), tuple(form.binned), tuple(form.gains))


def build_structural_zero(form: StructuralZeroSpec, terms: Terms, where: str) -> StructuralZero:
    """Build a rule between features from its declaration.

    Args:
        form: As written.
        terms: Features and recodes that it may refer to.
        where: Name of the rule in messages.

    Raises:
        SchemaError: The rule has an unknown name or value, or rules nothing out.
    """
    full = tuple(feature.full for feature in terms.features.values())
    zero = StructuralZero(
        terms.narrow(full, form.when, f"{where}.when"),
        terms.narrow(full, form.only, f"{where}.only"),
        form.definition,
        form.why,
    )
    if not zero.impossible:
        raise SchemaError(f"{where}: rules nothing out: `only` has every value that `when` has")
    return zero


def build_feature(name: str, form: FeatureSpec) -> Feature:
    """Build a feature from its declaration.

    Raises:
        SchemaError: The declaration contradicts itself.
    """
    if sum(value is not None for value in (form.categories, form.range, form.multiselect)) != 1:
        raise SchemaError(f"features.{name}: give exactly one of categories, range, multiselect")
    if form.categories is not None:
        return Feature(name, tuple(form.categories))
    if form.range is not None:
        return Feature(name, tuple(_expand([form.range], f"features.{name}.range")), ordered=True)
    options = tuple(form.multiselect or ())
    if not 1 <= len(options) <= _MOST_OPTIONS:
        raise SchemaError(
            f"features.{name}.multiselect: 1 to {_MOST_OPTIONS} options, found {len(options)}"
        )
    combinations = itertools.chain.from_iterable(
        itertools.combinations(range(len(options)), count) for count in range(1, len(options) + 1)
    )
    values = tuple(sum(1 << i for i in combination) for combination in combinations)
    return Feature(name, values, options)


def build_recode(name: str, form: RecodeSpec, features: Mapping[str, Feature]) -> Recode:
    """Build a recode of one of ``features``.

    Raises:
        SchemaError: The declaration has an unknown name or value, or contradicts itself.
    """
    where = f"recodes.{name}"
    feature = features.get(form.of)
    if feature is None:
        raise SchemaError(f"{where}.of: no feature {form.of!r} (features: {', '.join(features)})")
    forms = (form.edges, form.groups, form.picked, form.includes)
    if sum(value is not None for value in forms) != 1:
        raise SchemaError(f"{where}: give exactly one of edges, groups, picked, includes")
    if form.edges is not None:
        return _recode_by_edges(name, feature, _expand(form.edges, f"{where}.edges"))
    if form.groups is not None:
        masks = tuple(
            _values(feature, group, f"{where}.groups.{label}")
            for label, group in form.groups.items()
        )
        return Recode(name, feature.name, tuple(form.groups), masks)
    if form.picked is not None:
        counts = _expand(form.picked, f"{where}.picked")
        masks = tuple(feature.picked(int(count)) for count in counts)
        return Recode(name, feature.name, tuple(counts), masks)
    options = tuple(form.includes or ())
    return Recode(name, feature.name, options, tuple(feature.includes(o) for o in options))


def _recode_by_edges(name: str, feature: Feature, edges: list[Value]) -> Recode:
    where = f"recodes.{name}.edges"
    if not feature.ordered:
        raise SchemaError(f"{where}: feature {feature.name!r} is not a range")
    for edge in edges:
        if edge not in feature.position:
            raise SchemaError(f"{where}: {edge!r} is not a value of {feature.name!r}")
    if not edges:
        raise SchemaError(f"{where}: at least one edge is needed")
    starts = [feature.position[edge] for edge in edges]
    if starts != sorted(set(starts)):
        raise SchemaError(f"{where}: lower edges must rise")
    ends = [*starts[1:], len(feature.values)]
    masks = tuple((1 << end) - (1 << start) for start, end in zip(starts, ends, strict=True))
    return Recode(name, feature.name, tuple(edges), masks)


def _expand(items: list[Value], where: str) -> list[Value]:
    """Expand ``a..b`` (both ends included); keep other items."""
    values: list[Value] = []
    for item in items:
        match = _RANGE.match(item) if isinstance(item, str) else None
        if match is None:
            values.append(item)
            continue
        low, high = int(match[1]), int(match[2])
        if low > high:
            raise SchemaError(f"{where}: empty range {item!r}")
        if high - low >= _MOST_VALUES:
            raise SchemaError(f"{where}: {item!r} has more than {_MOST_VALUES:,} values")
        values.extend(range(low, high + 1))
    return values


def _values(feature: Feature, form: ChoiceSpec | list[Value], where: str) -> int:
    """Return the mask of the values that ``form`` names."""
    if isinstance(form, ChoiceSpec):
        if (form.picked is None) == (form.includes is None):
            raise SchemaError(f"{where}: give exactly one of picked, includes")
        if form.includes is not None:
            return feature.includes(form.includes)
        counts = _expand(form.picked or [], where)
        for count in counts:
            if not isinstance(count, int):
                raise SchemaError(f"{where}.picked: {count!r} is no number of options")
        return sum(feature.picked(int(count)) for count in counts)
    mask = 0
    for value in _expand(form, where):
        name = 1 << feature.options.index(value) if value in feature.options else value
        if name not in feature.position:
            known = ", ".join(map(str, feature.options or feature.values[:12]))
            raise SchemaError(f"{where}: {feature.name!r} has no value {value!r} (such as {known})")
        mask |= 1 << feature.position[name]
    return mask


@dataclass(frozen=True)
class Terms:
    """The features and recodes that cells may refer to."""

    features: dict[str, Feature]
    recodes: dict[str, Recode]

    def index(self, name: str, where: str) -> int:
        """Return the position of a feature; ``where`` names the reference in messages."""
        names = list(self.features)
        if name not in names:
            raise SchemaError(f"{where}: no feature {name!r} (features: {', '.join(names)})")
        return names.index(name)

    def groups(self, name: str, where: str) -> tuple[int, tuple[int, ...]]:
        """Return the feature index and group masks of a recode, or of a feature's single values."""
        if name in self.recodes:
            recode = self.recodes[name]
            return self.index(recode.feature, where), recode.masks
        if name not in self.features:
            known = ", ".join([*self.features, *self.recodes])
            raise SchemaError(f"{where}: no feature or recode {name!r} (known: {known})")
        count = len(self.features[name].values)
        return self.index(name, where), tuple(1 << i for i in range(count))

    def narrow(self, masks: tuple[int, ...], condition: Condition, where: str) -> tuple[int, ...]:
        narrowed = list(masks)
        for name, form in condition.items():
            at = self.index(name, where)
            narrowed[at] &= _values(self.features[name], form, f"{where}.{name}")
            if not narrowed[at]:
                raise SchemaError(f"{where}.{name}: no value is left")
        return tuple(narrowed)


def _tables(family: FamilySpec, terms: Terms) -> Iterator[Table]:
    for name, form in family.tables.items():
        where = f"tables.{name}"
        full = tuple(feature.full for feature in terms.features.values())
        universe = terms.narrow(full, form.universe, f"{where}.universe")
        cells = tuple(
            Cell(number, masks, tally)
            for number, (masks, tally) in enumerate(
                _cells(family.cells, universe, terms, f"{where}.cells"), start=1
            )
        )
        code = form.code or f"{name}_#"
        statistic = None
        if form.statistic is not None:
            at = f"{where}.statistic"
            statistic = build_statistic(form.statistic, cells, terms.features, terms.narrow, at)
        yield Table(name, code, tuple(family.levels), cells, form.title, statistic)


def _cells(
    items: list[CellSpec], masks: tuple[int, ...], terms: Terms, where: str
) -> list[tuple[tuple[int, ...], int | None]]:
    """Expand nested cell patterns to the predicate and tally of each cell, in order."""
    found: list[tuple[tuple[int, ...], int | None]] = []
    for i, item in enumerate(items):
        match item:
            case BySpec():
                here = f"{where}[{i}]"
                at, groups = terms.groups(item.by, here)
                before, own, after = masks[:at], masks[at], masks[at + 1 :]
                inner = [(*before, own & group, *after) for group in groups if own & group]
                if item.cells == ["total"]:  # most cells, and as many calls
                    found += [(each, None) for each in inner]
                else:
                    found += [c for each in inner for c in _cells(item.cells, each, terms, here)]
            case WhereSpec():
                here = f"{where}[{i}]"
                found += _cells(item.cells, terms.narrow(masks, item.where, here), terms, here)
            case TallySpec():
                here = f"{where}[{i}]"
                at = terms.index(item.tally, here)
                if not terms.features[item.tally].options:
                    raise SchemaError(f"{here}: {item.tally!r} is not a multi-select feature")
                found.append((masks, at))
            case _:
                found.append((masks, None))
    return found
