"""Sections of the config as keywords of API functions: each option is declared once."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import reduce, wraps
from operator import or_
from types import UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Final,
    Generic,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    overload,
)

from pydantic import ValidationError

from recon_cli.config.keys import meanings_of
from recon_cli.config.model import ConfigModel, Section, TableChoice
from recon_cli.deprecation import Former
from recon_cli.errors import ConfigError
from recon_cli.schema.validation import describe

#: Words of a key's meaning that become ``0``, since a function has no run.
_RUNS_SEED: Final = "the run's seed"
Options = ParamSpec("Options")
SectionOf = TypeVar("SectionOf", bound=Section)
First = TypeVar("First")
Second = TypeVar("Second")
Third = TypeVar("Third")
Result = TypeVar("Result")


class OfTables(ConfigModel):
    """The tables of a reconstruction, which a work folder records and a function takes as argument.

    Attributes:
        tables: Tables that the records were made from, as in `reconstruct`.
    """

    tables: TableChoice | None = None


class Keywords(Generic[Options, SectionOf]):
    """A decorator that turns the last argument, a section, into the section's keys as keywords.

    The decorated function has the section's keys in its signature, with their types and defaults,
    and under ``Args:`` of its docstring; type checkers see them, too.

    >>> from recon_cli.capabilities.slivers.options import Slivers
    >>> @Keywords(Slivers)
    ... def smallest(first: int, second: int, options: Slivers) -> int:
    ...     '''Return the smallest.'''
    ...     return min(first, second, options.below)
    >>> smallest(8, 9), smallest(8, 9, below=5)
    (8, 5)
    >>> smallest(8, 9, below="few")
    Traceback (most recent call last):
        ...
    recon_cli.errors.ConfigError: smallest: below: must be a valid integer (found 'few')
    """

    def __init__(
        self, section: Callable[Options, SectionOf], former: Mapping[str, Former] | None = None
    ) -> None:
        """Make a decorator for functions that take ``section``.

        Args:
            section: The section.
            former: Keywords of earlier versions, which still work, with the present ones.
        """
        self.section = section
        self.former: Final = former or {}

    @overload
    def __call__(
        self, function: Callable[[First, SectionOf], Result]
    ) -> Callable[Concatenate[First, Options], Result]: ...

    @overload
    def __call__(
        self, function: Callable[[First, Second, SectionOf], Result]
    ) -> Callable[Concatenate[First, Second, Options], Result]: ...

    @overload
    def __call__(
        self, function: Callable[[First, Second, Third, SectionOf], Result]
    ) -> Callable[Concatenate[First, Second, Third, Options], Result]: ...

    def __call__(self, function: Callable[..., Result]) -> Callable[..., Result]:
        """Return the function with keywords in place of its last argument."""
        model = self._model
        *inputs, _ = inspect.signature(function).parameters.values()
        taken = {each.name for each in inputs}  # frames in place of the files that a key names
        keywords = [each for each in _parameters(model) if each.name not in taken]
        signature = inspect.Signature([*inputs, *keywords])
        name, former = function.__name__, self.former

        @wraps(function)
        def called(*given: object, **named: object) -> Result:
            for old in former.keys() & named:
                former[old].warn()
                named[former[old].now.removesuffix("=")] = named.pop(old)
            bound = signature.bind(*given, **named).arguments
            positional = [bound.pop(each.name) for each in inputs]
            try:
                options = model(**bound)
            except ValidationError as error:
                raise ConfigError(f"{name}: {describe(error, model)}") from None
            return function(*positional, options)

        vars(called)["__signature__"] = signature
        called.__doc__ = _documented(function.__doc__ or "", model, taken)
        return called

    @property
    def _model(self) -> type[Section]:
        if not (isinstance(self.section, type) and issubclass(self.section, Section)):
            raise TypeError(f"{self.section!r} is no section of the config")
        return self.section


def _parameters(model: type[Section]) -> Iterator[inspect.Parameter]:
    for name, field in model.model_fields.items():
        yield inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=field.get_default(call_default_factory=True, validated_data={}),
            annotation=_bare(field.annotation),
        )


def _bare(kind: Any) -> Any:
    """Remove the checks from a type: ``Annotated[int, Field(ge=0)] | None`` is ``int | None``."""
    if get_origin(kind) is Annotated:
        return _bare(get_args(kind)[0])
    inner = get_args(kind)
    if isinstance(kind, UnionType) or get_origin(kind) is Union:
        return reduce(or_, map(_bare, inner))
    return kind


def _documented(text: str, model: type[Section], taken: Collection[str]) -> str:
    """Add the meanings of a section's keys to the ``Args:`` of a docstring."""
    entries = [
        textwrap.fill(
            f"{key}: {meaning.replace(_RUNS_SEED, '0')}",
            96,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
        )
        for key, meaning in meanings_of(model).items()
        if key not in taken
    ]
    whole = inspect.cleandoc(text)
    if "Args:\n" not in whole:
        first, _, more = whole.partition("\n\n")
        whole = f"{first}\n\nArgs:\n\n{more}"
    before, _, rest = whole.partition("Args:\n")
    arguments, _, after = rest.partition("\n\n")
    listed = "\n".join([*([arguments] if arguments else []), *entries])
    return f"{before}Args:\n{listed}\n\n{after}"
