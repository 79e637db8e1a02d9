"""Joint releases: several releases of the same places whose records are linked.

A *link* is an equation or inequality that holds in every place between the numbers of two kinds of
records: as many householders as occupied units, as many people as the sum of household sizes.

See *joint release* in docs/glossary.md.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field, ValidationError

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema.features import Recode
from recon_cli.schema.load import Terms
from recon_cli.schema.release import Release
from recon_cli.schema.spec import Condition, Name, Spec
from recon_cli.schema.validation import describe
from recon_cli.strict_yaml import parse_yaml, read_text

_JOINTS: Final = Path(__file__).parent / "joints"


class LinkSpec(Spec):
    """One link: exactly one of ``equal``, ``sum`` and ``presence``, with a condition for each part.

    Attributes:
        equal: The first part has as many records as the second.
        sum: The first part has as many records as the sizes of the second add up to.
        presence: The first part has at least one record for each of the second, and in total at
            most the sum of the second's sizes, each less ``without``.
        by: Feature or recode of the first part → one of the second: the link holds for each label
            that both have.
        size: Feature of the second part: the number of first-part records that belong to a record.
        top: Last value of ``size``, if it also stands for larger sizes.
        without: Number of people of a size that are not counted: 1 if the householder is not.
    """

    equal: dict[Name, Condition] | None = None
    sum: dict[Name, Condition] | None = None
    presence: dict[Name, Condition] | None = None
    by: dict[Name, Name] = Field(default_factory=dict)
    size: Name | None = None
    top: int | None = None
    without: Annotated[int, Field(ge=0)] = 0


class JointSpec(Spec):
    """Two releases of the same places, and how their records are linked.

    Attributes:
        joint: A name.
        parts: Name of each part → the name of its release, two of them.
        links: Relations that hold in every place.
    """

    joint: Name
    parts: dict[Name, Name]
    links: Annotated[list[LinkSpec], Field(min_length=1)]


class LinkKind(StrEnum):
    """The relation between two numbers of records."""

    #: As many records of one part as of the other.
    EQUAL = "equal"
    #: As many records of one part as the sizes of the other's add up to.
    SUM = "sum"
    #: At least one record for each of the other part, and at most as many as their sizes.
    PRESENCE = "presence"


@dataclass(frozen=True)
class Link:
    """A link, for each combination of the groups that both parts distinguish.

    Attributes:
        parts: The numbers of the two linked parts.
        predicates: For each part, the values that count, for every feature of its release.
        by: Pairs of groups, one of each part; those with the same label belong together.
        size: Place of the second part's feature whose values add up; None where none do.
        top: The size that stands for itself and all larger sizes; None for none.
        without: Number of people of the second part's size that cannot be among those counted.
        where: Name of the link in messages.
    """

    kind: LinkKind
    parts: tuple[int, int]
    predicates: tuple[tuple[int, ...], tuple[int, ...]]
    by: tuple[tuple[Recode, Recode], ...]
    size: int | None
    top: int | None
    without: int
    where: str

    def __str__(self) -> str:
        return self.where


@dataclass(frozen=True)
class JointRelease:
    """Releases of the same places and the links between their records.

    Attributes:
        names: Names of the parts: the two in question, then those that only add information
            about these.
        releases: Names of their schemas, in the same order.
        links: Those of every place.
        digest: SHA-256 of the text.
    """

    name: str
    names: tuple[str, ...]
    releases: tuple[str, ...]
    links: tuple[Link, ...]
    digest: str


def packaged_joints() -> tuple[str, ...]:
    """List the names of the packaged links."""
    return tuple(sorted(path.stem for path in _JOINTS.glob("*.yaml")))


def load_joint(name_or_path: str, releases: Sequence[Release]) -> JointRelease:
    """Load links between releases, by packaged name or by path.

    Args:
        name_or_path: ``sf1_2010``, or a path that ends in ``.yaml`` or ``.yml``.
        releases: The releases that the parts name, in their order.

    Raises:
        ConfigError: There are no such links, or the links are of other releases.
        SchemaError: The links are malformed; the message names the key.
    """
    path = Path(name_or_path)
    if path.suffix not in {".yaml", ".yml"}:
        if name_or_path not in packaged_joints():
            raise ConfigError(
                f"links: none packaged are called {name_or_path!r} (packaged: "
                f"{', '.join(packaged_joints())}; or give the path of a .yaml file)"
            )
        path = _JOINTS / f"{name_or_path}.yaml"
    return parse_joint(read_text(path), releases, source=path.name)


def parse_joint(text: str, releases: Sequence[Release], *, source: str) -> JointRelease:
    """Parse links from YAML text; ``source`` names the text in messages.

    Raises:
        ConfigError: They are of other releases.
        SchemaError: They are malformed; the message names the key.
    """
    document = parse_yaml(text, source=source, error=SchemaError)
    try:
        spec = JointSpec.model_validate(document.data)
    except ValidationError as error:
        raise SchemaError(f"{source}: {describe(error, JointSpec)}") from error
    names, given = tuple(spec.parts), [release.name for release in releases]
    if given != list(spec.parts.values()):
        said = ", ".join(f"{name}: {release}" for name, release in spec.parts.items())
        raise ConfigError(f"{source}: its parts are {said}; the runs are of {', '.join(given)}")
    units = {release.geography.unit for release in releases}
    if len(names) < 2 or len(units) > 1:
        raise SchemaError(f"{source}: parts: at least two are expected, of the same places")
    reader = _Reader(names, tuple(releases))
    try:
        links = tuple(reader.link(link, f"links[{at}]") for at, link in enumerate(spec.links))
    except SchemaError as error:
        raise SchemaError(f"{source}: {error}") from error
    digest = hashlib.sha256(text.encode()).hexdigest()
    return JointRelease(spec.joint, names, tuple(spec.parts.values()), links, digest)


@dataclass(frozen=True)
class _Reader:
    """The releases that links may refer to."""

    names: tuple[str, ...]
    releases: tuple[Release, ...]

    def link(self, form: LinkSpec, where: str) -> Link:
        given = {kind: getattr(form, kind) for kind in LinkKind if getattr(form, kind) is not None}
        if len(given) != 1:
            raise SchemaError(f"{where}: give exactly one of {', '.join(LinkKind)}")
        ((kind, sides),) = given.items()
        if len(sides) != 2 or not set(sides) <= set(self.names):
            raise SchemaError(
                f"{where}.{kind}: a condition for each of two parts is expected (parts: "
                f"{', '.join(self.names)}); found {', '.join(sides) or 'none'}"
            )
        one, other = (self.names.index(name) for name in sides)
        first, second = (
            self._predicate(self.names.index(name), condition, f"{where}.{kind}.{name}")
            for name, condition in sides.items()
        )
        link = Link(
            kind,
            (one, other),
            (first, second),
            tuple(
                (self._groups(one, a, where), self._groups(other, b, where))
                for a, b in form.by.items()
            ),
            self._size(form, kind, self.releases[other], where),
            form.top,
            form.without,
            f"{where} ({kind})",
        )
        for pair in link.by:
            self._require_counterparts(link, pair, where)
        return link

    def _predicate(self, part: int, condition: Condition, where: str) -> tuple[int, ...]:
        release = self.releases[part]
        terms = Terms({feature.name: feature for feature in release.features}, {})
        return terms.narrow(release.full, condition, where)

    @staticmethod
    def _size(form: LinkSpec, kind: LinkKind, release: Release, where: str) -> int | None:
        if kind is LinkKind.EQUAL:
            if form.size is not None or form.top is not None or form.without:
                raise SchemaError(f"{where}: size, top and without are not for `equal`")
            return None
        if form.size not in release.feature_index:
            raise SchemaError(f"{where}.size: release {release.name!r} has no {form.size!r}")
        at = release.feature_index[form.size]
        values = release.features[at].values
        if not release.features[at].ordered or int(values[0]) < 0:
            raise SchemaError(f"{where}.size: {form.size!r} is no number of records")
        if form.top is not None and form.top != values[-1]:
            raise SchemaError(f"{where}.top: the last value of {form.size!r} is {values[-1]}")
        if form.without and kind is LinkKind.SUM:
            raise SchemaError(f"{where}: without is for `presence`")
        return at

    def _groups(self, part: int, name: str, where: str) -> Recode:
        release = self.releases[part]
        try:
            groups = release.recode_by_name.get(name) or release.column_groups(name)
        except SchemaError as error:
            raise SchemaError(f"{where}.by: {error}") from error
        union = 0
        for mask in groups.masks:
            if union & mask:
                raise SchemaError(f"{where}.by: groups of {name!r} overlap")
            union |= mask
        return groups

    def _require_counterparts(self, link: Link, pair: tuple[Recode, Recode], where: str) -> None:
        """Refuse a group that can have records and has no counterpart."""
        for side, (mine, other) in enumerate((pair, pair[::-1])):
            release, predicate = self.releases[link.parts[side]], link.predicates[side]
            f = release.feature_index[mine.feature]
            for label, mask in zip(mine.labels, mine.masks, strict=True):
                inside = (*predicate[:f], predicate[f] & mask, *predicate[f + 1 :])
                if label in other.labels or not inside[f] or _is_impossible(release, inside):
                    continue
                part = self.names[link.parts[side]]
                raise SchemaError(
                    f"{where}.by: group {label!r} of {mine.name!r} has no counterpart in "
                    f"{other.name!r}; name its values in the condition of {part}, or let a recode "
                    "have both"
                )


def _is_impossible(release: Release, masks: tuple[int, ...]) -> bool:
    """Test whether one structural zero rules out these values."""
    return any(
        all(mine & ~theirs == 0 for mine, theirs in zip(masks, forbidden, strict=True))
        for zero in release.structural_zeros
        if zero.is_definition
        for forbidden in zero.impossible
    )
