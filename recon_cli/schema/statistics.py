"""Statistics of a table's cells: shares, ratios, means and others that are printed beside counts.

See *printed statistic* in docs/glossary.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, Literal, cast, get_args

from recon_cli.errors import SchemaError
from recon_cli.schema.features import Feature
from recon_cli.schema.spec import Condition, StatisticSpec

Kind = Literal["share", "ratio", "mean", "minimum", "maximum", "mode", "median", "quantile"]
#: Kinds whose value is one of the feature's, or lies between two of them.
OF_VALUES: Final = ("mean", "minimum", "maximum", "mode", "median", "quantile")
#: Kinds that are printed as a value of the feature itself, not rounded.
UNROUNDED: Final = ("minimum", "maximum", "mode")
#: How the median of an even number of people is defined.
Definition = Literal["any", "middle", "low", "high"]


@dataclass(frozen=True)
class Statistic:
    """The number that a table prints for each of its cells.

    Attributes:
        feature: Index of the feature whose values are averaged or compared; None for shares.
        values: For each value of that feature its number.
        part: For a share and a ratio: the values of every feature that the numerator counts.
        base: For a ratio: the values of every feature that the denominator counts.
        times: Factor of the quotient: 100 for a percentage.
        definition: Definition of a median.
        order: For a quantile: the share of people below it.
    """

    kind: Kind
    feature: int | None = None
    values: tuple[Fraction, ...] = ()
    part: tuple[int, ...] = ()
    base: tuple[int, ...] = ()
    times: Fraction = Fraction(1)
    definition: Definition = "any"
    order: Fraction = Fraction(1, 2)

    def counted(self, masks: tuple[int, ...]) -> tuple[int, ...]:
        """Return the people of a cell that the numerator counts."""
        return _both(masks, self.part) if self.part else masks

    def based(self, masks: tuple[int, ...]) -> tuple[int, ...]:
        """Return the people of a cell that the denominator counts."""
        return _both(masks, self.base) if self.base else masks

    @property
    def scale(self) -> tuple[int | None, tuple[Fraction, ...]]:
        """Return the feature and its numbers, which may differ between tables."""
        return self.feature, self.values

    @property
    def most(self) -> Fraction | None:
        """Return the greatest number that can be printed; None where nothing limits it."""
        if self.values:
            return max(self.values)
        return self.times if self.kind == "share" else None

    @property
    def least(self) -> Fraction:
        """Return the least number that can be printed."""
        return min(self.values, default=Fraction(0))

    def refusal(self, value: Fraction, text: str, features: tuple[Feature, ...]) -> str:
        """Return why a number cannot be this statistic; empty if it can.

        Args:
            text: The number as it is printed.
        """
        name = "" if self.feature is None else features[self.feature].name
        if self.most is not None and value > self.most:
            if self.values:
                return f"{text} is above the greatest {name}, {_shown(self.most)}"
            return f"{text} of at most {_shown(self.most)}"
        if value < self.least:
            if self.values:
                return f"{text} is below the least {name}, {_shown(self.least)}"
            return f"{text} is below 0"
        if self.kind in UNROUNDED and value not in self.values:
            return f"{text} is no value of {name}"
        return ""


#: Adds a condition to masks; the last argument names it in messages.
Narrow = Callable[[tuple[int, ...], Condition, str], tuple[int, ...]]


def build_statistic(
    form: StatisticSpec,
    cells: Sequence[tuple[int, tuple[int, ...], int | None]],
    features: Mapping[str, Feature],
    narrow: Narrow,
    where: str,
) -> Statistic:
    """Build the statistic of a table from its declaration.

    Args:
        form: As written.
        cells: Number, masks and tally of the table's cells.
        features: The features that it may name, in order.
        narrow: Adds a condition to masks.
        where: Name of the statistic in messages.

    Raises:
        SchemaError: The declaration has an unknown name or value, or contradicts itself.
    """
    kind = _kind(form, where)
    if any(tally is not None for _, _, tally in cells):
        raise SchemaError(f"{where}: a tally has no statistic")
    if kind in OF_VALUES:
        return _of_values(form, kind, features, where)
    full = tuple(feature.full for feature in features.values())
    part = narrow(full, form.share or form.ratio or {}, f"{where}.{kind}")
    base = () if form.to is None else narrow(full, form.to, f"{where}.to")
    times = exact(form.times or (100 if kind == "share" else 1), f"{where}.times")
    if times <= 0:
        raise SchemaError(f"{where}.times: expected a positive number, found {form.times!r}")
    found = Statistic(kind, part=part, base=base, times=times)
    for number, masks, _ in cells:
        if 0 in found.counted(masks) or 0 in found.based(masks):
            raise SchemaError(f"{where}: counts nobody of cell {number}")
    return found


def _kind(form: StatisticSpec, where: str) -> Kind:
    """Return the kind that a declaration names; refuse keys of others."""
    kinds = [kind for kind in get_args(Kind) if getattr(form, kind) is not None]
    if len(kinds) != 1:
        raise SchemaError(f"{where}: give exactly one of {', '.join(get_args(Kind))}")
    [kind] = kinds
    is_given = {key: getattr(form, key) is not None for key in ("to", "order", "times", "values")}
    is_given["definition"] = form.definition != "any"
    of = {"to": ("ratio",), "order": ("quantile",), "times": ("share", "ratio")}
    of |= {"values": OF_VALUES, "definition": ("median",)}
    for key, kinds_with in of.items():
        if is_given[key] and kind not in kinds_with:
            raise SchemaError(f"{where}: {key} is of {', '.join(kinds_with)}, not of {kind}")
        if key in {"to", "order"} and kind in kinds_with and not is_given[key]:
            raise SchemaError(f"{where}: {kind} needs {key}")
    return cast("Kind", kind)


def _of_values(
    form: StatisticSpec, kind: Kind, features: Mapping[str, Feature], where: str
) -> Statistic:
    name = getattr(form, kind)
    if name not in features:
        raise SchemaError(f"{where}.{kind}: no feature {name!r} (features: {', '.join(features)})")
    order = exact(form.order, f"{where}.order") if kind == "quantile" else Fraction(1, 2)
    if not 0 < order < 1:
        raise SchemaError(f"{where}.order: expected a number between 0 and 1, found {form.order!r}")
    return Statistic(
        kind,
        feature=list(features).index(name),
        values=numbers_of(features[name], form.values, where),
        definition=form.definition,
        order=order,
    )


def numbers_of(
    feature: Feature, given: Mapping[Any, Any] | None, where: str
) -> tuple[Fraction, ...]:
    """Return the number of each value of a feature.

    Args:
        given: Value → its number; None for a range, whose values are numbers.

    Raises:
        SchemaError: The feature has no numbers, or some value has none.
    """
    if given is None:
        if not feature.ordered:
            raise SchemaError(f"{where}: {feature.name} has no values to average; give `values`")
        return tuple(Fraction(int(value)) for value in feature.values)
    missing = [value for value in feature.values if value not in given]
    unknown = [value for value in given if value not in feature.position]
    if missing or unknown:
        wrong = f"no number for {missing[0]!r}" if missing else f"no value {unknown[0]!r}"
        raise SchemaError(f"{where}.values: {wrong} of {feature.name}")
    return tuple(exact(given[value], f"{where}.values.{value}") for value in feature.values)


def exact(value: object, where: str) -> Fraction:
    """Return a number as a schema writes it, such as 4, 2.5 or 1/4.

    Raises:
        SchemaError: The value is no number.
    """
    try:
        return Fraction(str(value).strip())
    except (ValueError, ZeroDivisionError) as error:
        raise SchemaError(f"{where}: expected a number, found {value!r}") from error


def _both(masks: tuple[int, ...], others: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(one & other for one, other in zip(masks, others, strict=True))


def _shown(value: Fraction) -> str:
    """Return a number in decimals, rounded to six places.

    >>> _shown(Fraction(5, 4)), _shown(Fraction(110))
    ('1.25', '110')
    """
    return f"{float(value):.6f}".rstrip("0").rstrip(".")
