"""``compare:`` several protections of the same records, and how each is attacked.

Each protection has a work folder of its own, compare/NAME/, in which its publication is made,
reconstructed and attacked; several run at a time. Then all are linked with the true records. Writes
comparison/: a page, a table of all protections, and their errors.

Example:
  recon compare -c protections.yaml
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError

from recon_cli.capabilities.claims.options import Claims
from recon_cli.capabilities.protect.sections import ProtectingByChance
from recon_cli.capabilities.reconstruct.options import Reconstruct
from recon_cli.capabilities.records.records_file import Records
from recon_cli.capabilities.solvar.options import Solvar
from recon_cli.capabilities.swap.settings import Experimental, Share, Three
from recon_cli.config.model import (
    ConfigModel,
    ConfigPath,
    Names,
    Section,
    TableChoice,
    check_levels,
)
from recon_cli.config.sections import SECTIONS
from recon_cli.errors import ConfigError
from recon_cli.pipeline.stages import PROTECTIONS
from recon_cli.protections import Publishes
from recon_cli.schema import Release

AnyModel = TypeVar("AnyModel", bound=BaseModel)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
Risk = Literal["gain", "agreement", "certain", "disclosed"]
#: Kind of publication → sections of the stages that can attack it in a comparison.
ATTACKS: Final[Mapping[Publishes, tuple[str, ...]]] = MappingProxyType(
    {
        "records": ("reconstruct", "solvar", "claims"),
        "counts": ("reconstruct", "claims"),
        "measurements": ("reconstruct",),
        "answers": (),
    }
)
#: Keys of a protection's section that the comparison sets: all protect the same truth.
_SET: Final = ("records", "counts", "population")


class Coarser(ConfigModel):
    """A smaller release with exact counts.

    Attributes:
        tables: The tables that are published, as in ``reconstruct``; default every table.
        levels: The levels that are published, with the tables that all of them have; default all.
    """

    tables: TableChoice | None = None
    levels: Names | None = None


def _bare(value: object) -> object:
    """Treat a bare ``claims:`` as a section with defaults."""
    return {} if value is None else value


#: What a publisher protected, what protects records, which tables are made of them, and what
#: protects counts; in this order.
_ORDER: Final = (
    "published",
    *(name for name, each in PROTECTIONS.items() if each.publishes == "records"),
    "coarser",
    *(name for name, each in PROTECTIONS.items() if each.publishes != "records"),
)


def _asked(value: object) -> object:
    """Treat a bare ``cellkey:`` in a protection as one with defaults; a bare protection is none.

    A list is a sequence.
    """
    if isinstance(value, list):
        steps = [each for each in value if isinstance(each, dict) and len(each) == 1]
        kinds = [kind for each in steps for kind in each]
        if not kinds or len(steps) < len(value) or kinds != _in_order(kinds):
            raise PydanticCustomError(
                "protection",
                "a list is a sequence: what protects records, coarser, then one that protects "
                "counts, each once",
            )
        return {kind: _bare(each[kind]) for each, kind in zip(steps, kinds, strict=True)}
    if isinstance(value, dict):
        if len(value) > 1:
            raise PydanticCustomError(
                "protection", "one protection each is expected, or a list, which is a sequence"
            )
        return {key: _bare(each) for key, each in value.items()}
    return _bare(value)


def _in_order(kinds: Iterable[str]) -> list[str]:
    """Sort the known kinds by the order in which they apply; of counts keep the first."""
    found = [kind for kind in _ORDER if kind in set(kinds)]
    counts = _ORDER[_ORDER.index("coarser") + 1 :]
    return [*(kind for kind in found if kind not in counts), *[k for k in found if k in counts][:1]]


class AnyProtection(ConfigModel):
    """A protection: one of these, several in sequence, or none for exact counts."""

    published: Records | None = None
    coarser: Coarser | None = None

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return the kinds of its steps, in order; none for exact counts."""
        return tuple(_in_order(self.model_fields_set))

    @property
    def sections(self) -> dict[str, Section]:
        """Return the sections of the stages that make it, in order."""
        found = {kind: getattr(self, kind) for kind in self.kinds}
        return {kind: each for kind, each in found.items() if isinstance(each, Section)}

    def check(self, name: str, release: Release) -> None:
        """Refuse values that the release does not support, or that the comparison itself sets.

        Raises:
            ConfigError: The message begins with the key.
        """
        if self.published is not None and self.sections:
            raise ConfigError(
                f"protections.{name}: published records are protected; only coarser may follow"
            )
        for kind, section in self.sections.items():
            section.check(release)
            for key in _SET:
                if key in section.model_fields_set:
                    raise ConfigError(
                        f"protections.{name}.{kind}.{key}: every protection is of compare.truth"
                    )
        if self.coarser is not None:
            release.select_tables(self.coarser.tables)
            check_levels(self.coarser.levels, release, f"protections.{name}.coarser.levels")
            self._check_coarser(name, self.coarser)

    def _check_coarser(self, name: str, coarser: Coarser) -> None:
        """Refuse options that the following protection of counts would ignore."""
        last = self.kinds[-1]
        if last == "coarser":
            return
        if coarser.levels is not None or "tables" not in type(self.sections[last]).model_fields:
            raise ConfigError(
                f"protections.{name}: {last} says itself which "
                f"{'tables' if coarser.levels is None else 'levels'} it publishes"
            )
        if getattr(self.sections[last], "tables", None) is not None:
            raise ConfigError(f"protections.{name}.{last}.tables: coarser says which")


if TYPE_CHECKING:
    Protected = AnyProtection
else:
    _COMPARED = {name: each for name, each in PROTECTIONS.items() if ATTACKS[each.publishes]}
    _SAID = {name: each.purpose for name, each in _COMPARED.items()}
    _FIELDS: dict[str, Any] = {name: (SECTIONS[name] | None, None) for name in _COMPARED}
    Protected = create_model(
        "Protected",
        __base__=AnyProtection,
        __module__=__name__,
        __doc__="\n".join(
            (
                f"{AnyProtection.__doc__}\n\nAttributes:",
                *(f"    {name}: {said}" for name, said in _SAID.items()),
                "    published: Publish microdata that somebody else protected: a path, or a file",
                "        with ``layout``, as a demonstration product; only coarser may follow.",
                "    coarser: Publish fewer tables or levels.",
            )
        ),
        **_FIELDS,
    )


class SwapGrid(ConfigModel):
    """Experimental swaps, each combination a protection (NBER WP 31995, Appendix C).

    Attributes:
        rate: Shares of households to swap.
        size_noise: Name → probabilities that the match key is the household size less one, the
            size, or the size plus one.
        pseudo_tract: Name → probabilities that partners are looked for in the own tract, in
            another of the county, or of the state.
    """

    rate: Annotated[tuple[Share, ...], Field(min_length=1, strict=False)]
    size_noise: Annotated[dict[str, Annotated[Three, Field(strict=False)]], Field(min_length=1)]
    pseudo_tract: Annotated[dict[str, Annotated[Three, Field(strict=False)]], Field(min_length=1)]

    def protections(self) -> dict[str, Protected]:
        """Map ``swap-RATE-SIZE-TRACT`` to each protection."""
        return {
            f"swap-{rate:g}-{size}-{tract}": Protected.model_validate(
                {
                    "swap": {
                        "setting": Experimental(
                            method="experimental", rate=rate, size_noise=noise, pseudo_tract=pseudo
                        )
                    }
                }
            )
            for rate in self.rate
            for size, noise in self.size_noise.items()
            for tract, pseudo in self.pseudo_tract.items()
        }


class Sweep(ConfigModel):
    """A parameter of some protections, at several values.

    Attributes:
        over: The parameter, as ``topdown.scale`` or ``round.base``, of all that have it.
        values: Values to use in place of the configured one.
        draws: Number of draws for each value, with the same seeds for every value.
    """

    over: Annotated[str, Field(pattern=r"^\w+(\.\w+)+$")]
    values: Annotated[tuple[int | float | str, ...], Field(min_length=1, strict=False)]
    draws: Annotated[int, Field(ge=1)] = 1

    @property
    def kind(self) -> str:
        """Return the protection's section."""
        return self.over.partition(".")[0]

    def points(self, name: str, protection: Protected) -> list[SweepPoint]:
        """List every value and draw of a protection.

        Raises:
            ConfigError: The protection has no such number, or not such values.
        """
        return [
            SweepPoint(name, str(value), draw, _with_number(protection, self, value, draw))
            for value in self.values
            for draw in range(self.draws)
        ]


@dataclass(frozen=True)
class SweepPoint:
    """A protection at one value of the swept parameter, drawn once.

    Attributes:
        protection: The protection with this value and a seed of its own.
    """

    of: str
    value: str
    draw: int
    protection: Protected

    @property
    def name(self) -> str:
        """Return the name of its folder."""
        return f"{self.of}-{self.value.replace('/', '_')}-{self.draw}"


def _with_number(protection: Protected, sweep: Sweep, value: object, draw: int) -> Protected:
    sections = protection.sections
    if sweep.kind not in sections:
        raise ConfigError(f"sweep.over: {sweep.kind!r} has no numbers")
    keys = sweep.over.split(".")[1:]
    sections[sweep.kind] = _replaced(sections[sweep.kind], keys, value, sweep.over)
    for kind, section in sections.items():
        if isinstance(section, ProtectingByChance) and section.study_seed is None:
            sections[kind] = section.model_copy(update={"study_seed": 1 + draw})
    return protection.model_copy(update=dict(sections))


def _replaced(model: AnyModel, keys: Sequence[str], value: object, over: str) -> AnyModel:
    """Replace a parameter, given by its keys, in the model.

    Raises:
        ConfigError: They lead to none, or it cannot be that number.
    """
    first, *rest = keys
    found = getattr(model, first, None)
    if rest and isinstance(found, BaseModel):
        return model.model_copy(update={first: _replaced(found, rest, value, over)})
    numbers = [key for key, each in model if _is_number(each)]
    if rest or first not in numbers:
        raise ConfigError(f"sweep.over: {over}: no number there (numbers: {', '.join(numbers)})")
    given = {key: getattr(model, key) for key in model.model_fields_set}
    try:
        return type(model).model_validate({**given, first: value})
    except ValidationError as error:
        said = error.errors()[0]["msg"]
        raise ConfigError(f"sweep.values: {value!r}: not for {over}: {said}") from error


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | Fraction) and not isinstance(value, bool)


class Compare(Section):
    """The section ``compare``.

    Attributes:
        truth: Parquet or CSV file, or folder, of records; default the run's ``persons/``.
        protections: Name → protection, or a list of several, applied in order; its folder in
            ``compare/`` has the same name.
        swaps: Further protections: experimental swaps with every combination of the given settings.
        sweep: A parameter of some protections, at several values: risk and error as curves.
        tables: The tables that are published; default every table.
        weights: Table → weight of its errors; default 1 each.
        all_below: Numeric feature → a limit, as in ``{age: 18}``: counts the units whose
            reconstructed people are all below it although the true ones are not.
        risk: Risk measure that the page's text weighs against error; default ``gain`` if people can
            be linked, else ``disclosed`` if ``claims`` is set, else ``certain``.
        reconstruct: Options of `recon reconstruct` for each.
        solvar: Options of `recon solvar` for each; skipped if left out.
        claims: Options of `recon claims` for each; skipped if left out.
        id: Column of the truth with a person's identifier. Without it, and without a column
            ``pik``, nobody is linked.
        threshold: Rates based on fewer people are withheld.
    """

    truth: ConfigPath | None = None
    protections: Annotated[
        dict[str, Annotated[Protected, BeforeValidator(_asked)]], Field(min_length=1)
    ]
    swaps: SwapGrid | None = None
    sweep: Sweep | None = None
    tables: TableChoice | None = None
    weights: dict[str, Annotated[float, Field(ge=0, strict=False)]] = Field(default_factory=dict)
    all_below: Annotated[dict[str, Annotated[float, Field(strict=False)]], Field(max_length=1)] = (
        Field(default_factory=dict)
    )
    risk: Risk | None = None
    reconstruct: Reconstruct = Field(default_factory=Reconstruct)
    solvar: Annotated[Solvar | None, BeforeValidator(_bare)] = None
    claims: Annotated[Claims | None, BeforeValidator(_bare)] = None
    id: str = "pik"
    threshold: Annotated[int, Field(ge=0)] = 10

    @property
    def every(self) -> dict[str, Protected]:
        """Map names to protections, including those of the swap grid and the sweep."""
        swaps = {} if self.swaps is None else self.swaps.protections()
        swept = {point.of for point in self.points}
        fixed = {name: each for name, each in self.protections.items() if name not in swept}
        return {**fixed, **swaps, **{point.name: point.protection for point in self.points}}

    @property
    def points(self) -> tuple[SweepPoint, ...]:
        """Return the points of the sweep.

        Raises:
            ConfigError: What is swept is no number of a protection, or cannot have a value.
        """
        sweep = self.sweep
        if sweep is None:
            return ()
        return tuple(
            point
            for name, each in self.protections.items()
            if sweep.kind in each.kinds
            for point in sweep.points(name, each)
        )

    def check(self, release: Release) -> None:
        release.select_tables(self.tables)
        self.reconstruct.check(release)
        if self.sweep is not None and not self.points:
            every = (kind for each in self.protections.values() for kind in each.kinds)
            kinds = sorted({*every} - {"coarser", "published"})
            raise ConfigError(
                f"sweep.over: no protection is made by {self.sweep.kind!r} "
                f"(there are: {', '.join(kinds)})"
            )
        for name, protection in self.every.items():
            if not _NAME.fullmatch(name):
                raise ConfigError(
                    f"protections.{name}: a name is letters, digits and any of - _ . between them"
                )
            protection.check(name, release)
        for name in self.all_below:
            at = release.feature_index.get(name)
            if at is None or not all(type(value) is int for value in release.features[at].values):
                raise ConfigError(f"all_below: {name!r} is no feature of numbers")
        for name in self.weights:
            if name not in release.table_by_name:
                raise ConfigError(f"weights: no table {name!r} in release {release.name!r}")

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        published = (each.published for each in self.protections.values())
        paths = (self.truth, *(file.path for file in published if file is not None))
        return tuple(path for path in paths if path is not None)
