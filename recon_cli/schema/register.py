"""Registers: several publications about the same people, composed into one release.

A register lists publications, each with a schema of its own. The composed release has the features'
*common refinement*: for each feature the coarsest groups of values such that every published group
is a union of groups. A cell of any publication is then a set of combinations of these groups, all
counts are counts of one release, and a question about that release covers all publications.

See *register* in docs/glossary.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, ValidationError

from recon_cli.errors import SchemaError
from recon_cli.schema.areas import ALL, AreaGeography, AreaSystem
from recon_cli.schema.features import Feature, Value, bits
from recon_cli.schema.geography import Geography, Level
from recon_cli.schema.load import Terms, build_feature, build_recode, build_structural_zero
from recon_cli.schema.release import Release
from recon_cli.schema.spec import (
    AnyValues,
    Condition,
    FeatureSpec,
    Name,
    RecodeSpec,
    Scalar,
    Spec,
    StructuralZeroSpec,
)
from recon_cli.schema.tables import Cell, StructuralZero, Table
from recon_cli.schema.validation import describe
from recon_cli.strict_yaml import parse_yaml, read_text

#: Separates the name of a publication from that of its table.
OF: Final = "."


class SharedFeatureSpec(Spec):
    """A publication's feature as groups of a shared feature's values, or as equal to it.

    Attributes:
        of: The feature that all publications share.
        edges: As in a recode: the lowest value of each group; groups are the values in order.
        groups: Value of the publication's feature → the shared values that it stands for. Without
            edges and groups, the feature has the same values, perhaps under another name.
    """

    of: Name
    edges: list[Scalar] | None = None
    groups: dict[Scalar, AnyValues] | None = None


class PublicationSpec(Spec):
    """One publication.

    Attributes:
        name: Prefix of its tables' names, as in ``wards.T1``.
        release: Its schema: the path of a file, from the register's folder, or a packaged one.
        date: Reference date of its counts; publications of different dates cannot form a register.
        universe: Who is covered: feature → values included; default everybody.
        features: Its features that are groups of shared values, or have another name.
        ingest: Its files, as the section ``ingest`` of a config.
    """

    name: Name
    release: str
    date: Annotated[str, BeforeValidator(str)] | None = None
    universe: Condition = Field(default_factory=dict)
    features: dict[Name, SharedFeatureSpec] = Field(default_factory=dict)
    ingest: dict[str, Any]


class RegisterSpec(Spec):
    """A register is one YAML file.

    Attributes:
        name: Its identifier; the key is ``register``.
        title: One line for people.
        features: Features that all publications share, as in a release; those of the publications
            need not be repeated.
        structural_zeros: Further combinations of values that no record has.
        publications: In the order in which they came out.
    """

    name: Name = Field(alias="register")
    title: str
    features: dict[Name, FeatureSpec] = Field(default_factory=dict)
    structural_zeros: list[StructuralZeroSpec] = Field(default_factory=list)
    publications: list[PublicationSpec] = Field(min_length=1)


@dataclass(frozen=True)
class Register:
    """A register with its schemas.

    Attributes:
        spec: The content of its file.
        releases: The publications' schemas, in order.
    """

    spec: RegisterSpec
    releases: tuple[Release, ...]

    @property
    def digest(self) -> str:
        """Return the SHA-256 of its content and its publications' schemas."""
        said = self.spec.model_dump_json()
        return digest_of([said, *(release.digest for release in self.releases)])

    def without(self, publication: str) -> Register:
        kept = [
            (each, release)
            for each, release in zip(self.spec.publications, self.releases, strict=True)
            if each.name != publication
        ]
        spec = self.spec.model_copy(update={"publications": [each for each, _ in kept]})
        return Register(spec, tuple(release for _, release in kept))


def register_spec(path: Path) -> RegisterSpec:
    """Read a register's own file.

    Raises:
        SchemaError: The file is malformed, or two publications share a name or differ in date.
    """
    document = parse_yaml(read_text(path), source=str(path), error=SchemaError)
    try:
        spec = RegisterSpec.model_validate(document.data)
    except ValidationError as error:
        raise SchemaError(f"{path}: {describe(error, RegisterSpec)}") from error
    names = [each.name for each in spec.publications]
    if len(set(names)) < len(names):
        at, twice = next((at, name) for at, name in enumerate(names) if name in names[:at])
        line = document.line(("publications", at, "name"))
        raise SchemaError(f"{path}:{line}: publications: {twice!r} is listed twice")
    dated = {each.date: each.name for each in spec.publications if each.date is not None}
    if len(dated) > 1:
        told = " and ".join(f"{name} ({date})" for date, name in dated.items())
        at = names.index(list(dated.values())[-1])
        line = document.line(("publications", at, "date"))
        raise SchemaError(
            f"{path}:{line}: publications: {told} are of different dates; a register is about the "
            "same people at one date"
        )
    return spec


def compose(register: Register) -> Release:
    """Compose all publications into one release; its tables are named ``publication.table``.

    Raises:
        SchemaError: Features, levels or records of two publications do not fit together.
    """
    spec = register.spec
    pairs = list(zip(spec.publications, register.releases, strict=True))
    shared = _shared_features(spec, pairs)
    terms = Terms(shared, {})
    tables: list[Table] = []
    zeros = [
        build_structural_zero(form, terms, f"structural_zeros[{at}]")
        for at, form in enumerate(spec.structural_zeros)
    ]
    for about, release in pairs:
        if release.statistics:
            raise SchemaError(
                f"publication {about.name}: {release.statistics[0].name}: a register has no "
                "statistics yet; audit this publication by itself, or take the table out"
            )
        reading = _Reading.of(about, release, terms)
        tables += map(reading.table, release.tables)
        rules = map(reading.structural_zero, release.structural_zeros)
        zeros += (zero for zero in rules if all(zero.when))
    records = {release.record: about.name for about, release in pairs}
    if len(records) > 1:
        told = " and ".join(f"{name} ({record})" for record, name in records.items())
        raise SchemaError(f"publications: {told} have different records")
    refined = _Refinement.of(tuple(shared.values()), tables, zeros)
    names = tuple(feature.name for feature in refined.features)
    return Release(
        name=spec.name,
        title=spec.title,
        features=refined.features,
        recodes=(),
        geography=_geography([(about.name, release.geography) for about, release in pairs]),
        tables=tuple(map(refined.table, tables)),
        microdata=names,
        histogram=names,
        digest=register.digest,
        structural_zeros=tuple(dict.fromkeys(map(refined.structural_zero, zeros))),
        record=next(iter(records)),
        publications=tuple(about.name for about, _ in pairs),
    )


def digest_of(texts: Iterable[str]) -> str:
    """Return the SHA-256 of texts, such as a register's content and its publications' digests."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def _shared_features(
    spec: RegisterSpec, pairs: Sequence[tuple[PublicationSpec, Release]]
) -> dict[str, Feature]:
    """Build the shared features, each as fine as in any publication or the register."""
    found = {name: build_feature(name, form) for name, form in spec.features.items()}
    holder = dict.fromkeys(found, "the register")
    for about, release in pairs:
        if unknown := sorted(set(about.features) - set(release.feature_index)):
            raise SchemaError(f"{about.name}: features: no feature {unknown[0]!r} in its schema")
        for feature in release.features:
            if feature.name in about.features:
                continue
            known = found.setdefault(feature.name, feature)
            if (known.values, known.options) != (feature.values, feature.options):
                raise SchemaError(
                    f"{about.name}: feature {feature.name!r} has other values than that of "
                    f"{holder[feature.name]}; say under `features` which of its values each stands "
                    "for"
                )
            holder.setdefault(feature.name, about.name)
    return found


@dataclass(frozen=True)
class _Reading:
    """The translation of a publication's predicates to the shared features.

    Attributes:
        name: Name of the publication.
        universe: Predicate of the people whom the publication covers.
        groups: For each feature of the publication the index of the shared feature, and for each
            of the feature's values the mask of shared values that the value stands for.
    """

    name: str
    universe: tuple[int, ...]
    groups: tuple[tuple[int, tuple[int, ...]], ...]

    @classmethod
    def of(cls, about: PublicationSpec, release: Release, terms: Terms) -> _Reading:
        full = tuple(feature.full for feature in terms.features.values())
        universe = terms.narrow(full, about.universe, f"{about.name}: universe")
        return cls(
            about.name,
            universe,
            tuple(_groups(about, feature, terms) for feature in release.features),
        )

    def masks(self, masks: tuple[int, ...], within: tuple[int, ...]) -> tuple[int, ...]:
        """Translate a predicate of the publication, for the people ``within``."""
        found = list(within)
        for mask, (shared, groups) in zip(masks, self.groups, strict=True):
            found[shared] &= sum({groups[value] for value in bits(mask)})
        return tuple(found)

    def table(self, table: Table) -> Table:
        """Translate a table, with its name in the register."""
        cells = [self._cell(table, cell) for cell in table.cells]
        return replace(
            table,
            name=f"{self.name}{OF}{table.name}",
            code=f"{self.name}{OF}{table.code}",
            cells=tuple(cells),
        )

    def _cell(self, table: Table, cell: Cell) -> Cell:
        masks = self.masks(cell.masks, self.universe)
        if 0 in masks:
            raise SchemaError(
                f"{self.name}: table {table.name!r}: cell {cell.number} counts nobody: what it "
                "asks for excludes itself, or the universe"
            )
        tally = None if cell.tally is None else self.groups[cell.tally][0]
        return Cell(cell.number, masks, tally)

    def structural_zero(self, zero: StructuralZero) -> StructuralZero:
        """Translate a structural zero; it applies only to people whom the publication covers."""
        when = self.masks(zero.when, self.universe)
        only = self.masks(zero.only, self.universe)
        return replace(zero, when=when, only=only)


def _groups(about: PublicationSpec, feature: Feature, terms: Terms) -> tuple[int, tuple[int, ...]]:
    """Return the index of the shared feature, and for each own value a mask of shared values."""
    where = f"{about.name}: features.{feature.name}"
    form = about.features.get(feature.name)
    if form is None or (form.edges is None and form.groups is None):
        at = terms.index(feature.name if form is None else form.of, where)
        shared = list(terms.features.values())[at]
        if (shared.values, shared.options) != (feature.values, feature.options):
            raise SchemaError(f"{where}: {shared.name!r} has other values; give edges or groups")
        return at, tuple(1 << value for value in range(len(feature.values)))
    if feature.options:
        raise SchemaError(f"{where}: several options are picked of it, so it cannot be groups")
    recode = build_recode(
        feature.name, RecodeSpec(of=form.of, edges=form.edges, groups=form.groups), terms.features
    )
    if not recode.is_partition_of(terms.features[form.of]):
        raise SchemaError(f"{where}: every value of {form.of!r} belongs to exactly one group")
    if form.edges is not None and len(recode.masks) == len(feature.values):
        return terms.index(form.of, where), recode.masks
    if set(recode.labels) != set(feature.values):
        listed = ", ".join(map(str, feature.values[:12]))
        raise SchemaError(f"{where}: a group for each of its values is expected: {listed}")
    by_label = dict(zip(recode.labels, recode.masks, strict=True))
    return terms.index(form.of, where), tuple(by_label[value] for value in feature.values)


@dataclass(frozen=True)
class _Refinement:
    """The features at their common refinement.

    Attributes:
        features: Shared features that some publication distinguishes, with a value for each group.
        groups: For each of `features` its index among all shared ones, and the mask of each group.
    """

    features: tuple[Feature, ...]
    groups: tuple[tuple[int, tuple[int, ...]], ...]

    @classmethod
    def of(
        cls, shared: Sequence[Feature], tables: Iterable[Table], zeros: Iterable[StructuralZero]
    ) -> _Refinement:
        predicates = {cell.masks for table in tables for cell in table.cells}
        predicates |= {masks for zero in zeros for masks in (zero.when, zero.only)}
        found = []
        for at, feature in enumerate(shared):
            masks = {predicate[at] for predicate in predicates}
            groups = indistinct(feature, masks)
            if len(groups) > 1:
                found.append((_grouped(feature, groups), (at, groups)))
        if not found:  # nothing but totals
            found.append((shared[0], (0, tuple(1 << v for v in range(len(shared[0].values))))))
        features, of_shared = zip(*found, strict=True)
        return cls(features, of_shared)

    def _masks(self, masks: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(
            sum(1 << at for at, group in enumerate(groups) if masks[shared] & group)
            for shared, groups in self.groups
        )

    def table(self, table: Table) -> Table:
        """Express a table's cells as sets of groups."""
        place = {shared: at for at, (shared, _) in enumerate(self.groups)}
        cells = tuple(
            Cell(
                cell.number,
                self._masks(cell.masks),
                None if cell.tally is None else place[cell.tally],
            )
            for cell in table.cells
        )
        return replace(table, cells=cells)

    def structural_zero(self, zero: StructuralZero) -> StructuralZero:
        """Express a rule in groups."""
        return replace(zero, when=self._masks(zero.when), only=self._masks(zero.only))


def indistinct(feature: Feature, masks: Iterable[int]) -> tuple[int, ...]:
    """Group the values that no mask distinguishes, sorted by the first value of each group.

    >>> indistinct(Feature("age", (0, 1, 2)), [0b011])
    (3, 4)
    """
    if feature.options:  # tallies count the options of each value
        return tuple(1 << value for value in range(len(feature.values)))
    listed = sorted(masks)
    groups: dict[tuple[int, ...], int] = {}
    for value in range(len(feature.values)):
        signature = tuple(mask >> value & 1 for mask in listed)
        groups[signature] = groups.get(signature, 0) | 1 << value
    return tuple(groups.values())


def _grouped(feature: Feature, groups: Sequence[int]) -> Feature:
    """Make a feature with a value for each group, named after its members."""
    if len(groups) == len(feature.values):
        return feature
    return Feature(feature.name, tuple(_label(feature, group) for group in groups))


def _label(feature: Feature, group: int) -> str:
    """Return a label such as ``0-4`` or ``single or widowed``."""
    places = list(bits(group))
    if not feature.ordered:
        return " or ".join(str(feature.values[place]) for place in places)
    starts = [at for at in places if at - 1 not in places]
    ends = [at for at in places if at + 1 not in places]
    parts = zip(starts, ends, strict=True)
    return " or ".join(_run(feature.values[a], feature.values[b]) for a, b in parts)


def _run(first: Value, last: Value) -> str:
    return str(first) if first == last else f"{first}-{last}"


def _geography(named: Sequence[tuple[str, Geography]]) -> Geography:
    """Combine the levels or area systems of all publications."""
    areas = [(name, each) for name, each in named if isinstance(each, AreaGeography)]
    if len(areas) == len(named):
        return _areas(areas)
    if areas:
        other = next(name for name, each in named if not isinstance(each, AreaGeography))
        raise SchemaError(f"{areas[0][0]} has areas, and the levels of {other} nest by geoids")
    levels: dict[str, Level] = {}
    for name, geography in named:
        for level in geography.levels:
            if levels.setdefault(level.name, level) != level:
                raise SchemaError(
                    f"{name}: level {level.name!r} has {level.digits} digits, elsewhere "
                    f"{levels[level.name].digits}"
                )
    partition = min((each.partition_level for _, each in named), key=lambda level: level.rank)
    finest_first = sorted(levels.values(), key=lambda level: -level.rank)
    return Geography(tuple(finest_first), partition.name)


def _areas(named: Sequence[tuple[str, AreaGeography]]) -> Geography:
    units = {each.unit.name: name for name, each in named}
    if len(units) > 1:
        told = " and ".join(f"{name} ({unit})" for unit, name in units.items())
        raise SchemaError(f"publications: {told} have different units")
    systems: dict[str, AreaSystem] = {}
    for system in chain.from_iterable(each.systems for _, each in named):
        if systems.get(system.name, system).within is None:
            systems[system.name] = system
    partitions = {each.partition for _, each in named}
    partition = partitions.pop() if len(partitions) == 1 else ALL
    return AreaGeography.of(next(iter(units)), list(systems.values()), partition)
