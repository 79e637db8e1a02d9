"""Pydantic models of the YAML form of a schema; `load` checks their meaning."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    StringConstraints,
    Tag,
)

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_]*$")]
Scalar = bool | int | str


def _as_list(value: object) -> object:
    return value if isinstance(value, list) else [value]


Values = Annotated[list[Scalar], BeforeValidator(_as_list)]


class Spec(BaseModel):
    """Base of the models: frozen, no unknown keys, no silent conversion of numbers to text."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False
    )


class FeatureSpec(Spec):
    """A property that records have: exactly one of these keys.

    Attributes:
        categories: The values, in published order: ``[male, female]``, ``[false, true]``.
        range: Whole numbers, both ends included: ``0..110``.
        multiselect: Options of which a record has one or more. A value is the sum of its
            options' bits (1, 2, 4, …, in this order); at most 12 options.
    """

    categories: list[Scalar] | None = None
    range: str | None = None
    multiselect: list[Name] | None = None


class ChoiceSpec(Spec):
    """A set of values of a multiselect feature: exactly one of these keys.

    Attributes:
        picked: By how many options a value has: ``2``, ``[2, 3]`` or ``2..6``.
        includes: By an option that a value has, alone or with others.
    """

    picked: Values | None = None
    includes: Name | None = None


class RecodeSpec(Spec):
    """Groups of one feature's values, in one of four forms.

    A recode whose groups hold every value exactly once can be a column of records.

    Attributes:
        of: The feature.
        edges: For a range: the lowest value of each group, ascending; ``a..b`` is expanded.
        groups: Label of each group → a value, a list of values, or a choice of a multiselect
            feature.
        picked: For a multiselect feature: a group for each number of picked options: ``1..6``.
        includes: For a multiselect feature: a group for each option, alone or with others.
    """

    of: Name
    edges: list[Scalar] | None = None
    groups: dict[Scalar, AnyValues] | None = None
    picked: Values | None = None
    includes: list[Name] | None = None


class LevelSpec(Spec):
    """One level: ``{level: tract, digits: 11}``.

    Attributes:
        level: Its name.
        digits: Length of its geoids; a geounit's parent is the prefix of its geoid.
    """

    level: Name
    digits: int


class AreaSpec(Spec):
    """One area system: ``{area: ward, within: district}``.

    Attributes:
        area: Its name, and its column in the membership file.
        within: A system whose areas consist of whole areas of this one, as the file must confirm.
    """

    area: Name
    within: Name | None = None


class GeographySpec(Spec):
    """The levels or areas, and the level that files are split by.

    Attributes:
        levels: Levels that nest by their geoids, finest first; records are placed in the first.
        unit: With ``areas``: name of the smallest places, and of their column in the membership
            file. No area cuts these places, and records are placed in them.
        areas: Area systems that may overlap, in any order; which units lie in which areas is in
            the membership file (``ingest.membership``).
        partition: The level that files and work are split by; no table may be coarser. With
            ``areas`` also ``all``, which keeps everything together; its default.
    """

    levels: list[LevelSpec] | None = None
    unit: Name | None = None
    areas: list[AreaSpec] | None = None
    partition: Name | None = None


def _kind_of_values(value: object) -> str:
    return "<choice>" if isinstance(value, dict | ChoiceSpec) else "<values>"


#: One value, a list of them, or a choice of a multiselect feature's. Errors are reported for the
#: form that was meant, not for every form.
AnyValues = Annotated[
    Annotated[ChoiceSpec, Tag("<choice>")] | Annotated[Values, Tag("<values>")],
    Discriminator(_kind_of_values),
]
Condition = dict[Name, AnyValues]


class TallySpec(Spec):
    """A cell that counts picked options instead of people.

    Attributes:
        tally: A multiselect feature; who picked two options counts twice.
    """

    tally: Name


class BySpec(Spec):
    """The inner cells, repeated for every group of a feature or recode, in its order.

    Groups with nobody in the universe are skipped.

    Attributes:
        by: The feature or recode.
        cells: The inner cells; without them one for each group.
    """

    by: Name
    cells: list[CellSpec] = ["total"]


class WhereSpec(Spec):
    """The inner cells under a further condition.

    Attributes:
        where: Feature → the values that count: one, a list, ``a..b``, or a choice.
        cells: The inner cells; without them one.
    """

    where: Condition
    cells: list[CellSpec] = ["total"]


def _kind_of_cell(value: object) -> str | None:
    if isinstance(value, dict):
        return next((f"<{key}>" for key in ("by", "where", "tally") if key in value), None)
    return "<total>" if value == "total" else None


CellSpec = Annotated[
    Annotated[Literal["total"], Tag("<total>")]
    | Annotated[TallySpec, Tag("<tally>")]
    | Annotated[BySpec, Tag("<by>")]
    | Annotated[WhereSpec, Tag("<where>")],
    Discriminator(
        _kind_of_cell,
        custom_error_type="cell",
        custom_error_message="a cell is total, or has one of the keys by, where, tally",
    ),
]


class StatisticSpec(Spec):
    """The number that a table prints for each cell, not the number of people: one of these keys.

    Attributes:
        share: Feature → the values that the numerator counts, among the cell's people.
        ratio: Feature → the values that the numerator counts, with ``to``.
        to: Feature → the values that the denominator of ``ratio`` counts.
        mean: The feature whose values are averaged.
        minimum: The feature whose least value is printed.
        maximum: The feature whose greatest value is printed.
        mode: The feature whose most frequent value is printed.
        median: The feature whose median is printed.
        quantile: The feature of which a quantile is printed, with ``order``.
        times: Factor of a share or a ratio: 100 for a percentage, which is the default of
            ``share``, 1000 for a rate.
        values: Value of the feature → its number, where the feature is no range.
        definition: For a ``median`` of an even number of people: the ``middle`` of the two middle
            values, the ``low`` or ``high`` one, or ``any`` value between them, the default.
        order: For ``quantile``: the share of people below it, such as ``1/4``.
    """

    share: Condition | None = None
    ratio: Condition | None = None
    to: Condition | None = None
    mean: Name | None = None
    minimum: Name | None = None
    maximum: Name | None = None
    mode: Name | None = None
    median: Name | None = None
    quantile: Name | None = None
    times: int | str | None = None
    values: dict[Scalar, int | float | str] | None = None
    definition: Literal["any", "middle", "low", "high"] = "any"
    order: str | float | None = None


class TableSpec(Spec):
    """One table of a family.

    Attributes:
        code: Pattern of the cell codes; its run of ``#`` is the number of the cell, from 1.
            Default the table's name and ``_#``.
        universe: Who is counted: feature → the values that count; default everybody.
        title: Title for readers: the sheet's name, the heading over it.
        statistic: The number printed for each cell; default the number of people.
    """

    code: str | None = None
    title: str = ""
    universe: Condition = Field(default_factory=dict)
    statistic: StatisticSpec | None = None


class FamilySpec(Spec):
    """Tables that share levels and cells and differ in universe.

    Attributes:
        levels: Levels at which they are published.
        cells: The cells in published order: ``total``, ``by``, ``where`` or ``tally``, nested.
        tables: The tables by name, in published order.
    """

    levels: list[Name]
    cells: list[CellSpec]
    tables: dict[Name, TableSpec]


class AttackSpec(Spec):
    """The columns that an attacker links on and learns; `recon link` needs it.

    Attributes:
        exact: Features that a pair of records shares in the first pass.
        binned: Features or recodes of the second, coarser pass.
        gains: Columns that he learns.
    """

    exact: list[Name]
    binned: list[Name]
    gains: list[Name]


class StructuralZeroSpec(Spec):
    """Impossible records: ``{when: {size: 1}, only: {kind: [man_alone, woman_alone]}}``.

    Attributes:
        when: Feature → the values to which the rule applies.
        only: Feature → the values that such a record can have.
        definition: True where the rule follows from what the features mean, as that a vacant unit
            has no household; else it is an assumption, which can be switched off.
        why: One line for people.
    """

    when: Condition
    only: Condition
    definition: bool = False
    why: str = ""


class ReleaseSpec(Spec):
    """A schema is one YAML file.

    Attributes:
        release: Identifier, as in `release:` of a config.
        title: One line for people.
        record: Subject of one record, for texts: ``person``, ``household``.
        features: Properties of a record, by name.
        recodes: Named groups of a feature's values, for tables and for columns of records.
        geography: The levels.
        microdata: Columns of reconstructed records: every feature, and recodes.
        histogram: Columns that reconstructions are compared on, the grain of `certain`.
        attack: Columns of linking attacks.
        structural_zeros: Combinations of values that no record has, whatever is published.
        families: The tables.
        layouts: Where each source format keeps the tables; read by that source alone.
    """

    release: Name
    title: str
    record: Name = "person"
    features: dict[Name, FeatureSpec]
    recodes: dict[Name, RecodeSpec] = Field(default_factory=dict)
    geography: GeographySpec
    microdata: list[Name]
    histogram: list[Name]
    attack: AttackSpec | None = None
    structural_zeros: list[StructuralZeroSpec] = Field(default_factory=list)
    families: list[FamilySpec]
    layouts: dict[str, Any] = Field(default_factory=dict)
