"""The shape of a run's configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationInfo,
    field_validator,
)
from pydantic_core import PydanticCustomError

from recon_cli.budget import as_written, exact
from recon_cli.errors import ConfigError
from recon_cli.schema import Release, load_release

#: Greatest number in a config: floating point and JSON hold all whole numbers up to it.
MOST: Final = 2**53 - 1


class FromCommandLine(str):
    """Text from the command line, where paths are relative to the current folder."""

    __slots__ = ()


def place(value: object, info: ValidationInfo) -> object:
    """Resolve a path against the config file's folder, or the current folder if it was typed."""
    if isinstance(value, Path):
        return value  # given by a program, not written anywhere
    if not isinstance(value, str) or not value:
        raise PydanticCustomError("path", "a path is expected")
    base = (info.context or {}).get("base", Path())
    path = Path(value).expanduser()
    return path if isinstance(value, FromCommandLine) else base / path


def place_release(value: object, info: ValidationInfo) -> object:
    """Resolve the path of a schema file; keep the name of a packaged release."""
    if isinstance(value, str) and value.endswith((".yaml", ".yml")):
        return str(place(value, info))
    return value


def choose(value: object) -> object:
    """Turn a list of names into a tuple; keep a selection by level as text."""
    names = tuple(value) if isinstance(value, list | tuple) else (value,)
    if not names or not all(isinstance(name, str) and name for name in names):
        raise PydanticCustomError(
            "tables", "levels joined by '+' or a list of table names is expected"
        )
    return value if isinstance(value, str) else names


def as_list(value: object) -> object:
    """Turn one name into a list of one; None is an error.

    >>> as_list("P1"), as_list(["P1", "P2"])
    (['P1'], ['P1', 'P2'])
    """
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("list", "at least one is expected")
    return as_list_or_none(value)


def as_list_or_none(value: object) -> object:
    """Turn one name into a list of one, and None into an empty list."""
    return [value] if isinstance(value, str) else value


def keys_as_text(value: object) -> object:
    """Turn keys that YAML read as numbers back into text.

    >>> keys_as_text({1: "one"})
    {'1': 'one'}
    """
    return {str(key): each for key, each in value.items()} if isinstance(value, dict) else value


def require_csv(path: Path) -> Path:
    """Refuse a path that does not end in ``.csv``."""
    if path.suffix.lower() != ".csv":
        raise PydanticCustomError("suffix", "a .csv file is expected")
    return path


def _positive(value: object) -> Fraction:
    found = value if isinstance(value, Fraction) else exact(str(as_written(value)))
    if found <= 0:
        raise PydanticCustomError("positive", "a number above 0 is expected")
    return found


def refuse_file(path: Path) -> Path:
    """Refuse an existing file where a folder is expected."""
    if path.is_file():
        raise PydanticCustomError("folder", "a folder is expected, this is a file")
    return path


#: A number above 0, exactly as it is written: ``0.1``, ``1/64``, ``2.56*165/4099``.
Positive = Annotated[Fraction, BeforeValidator(_positive), PlainSerializer(str)]
ConfigPath = Annotated[Path, BeforeValidator(place)]
#: A folder to write to.
ConfigFolder = Annotated[ConfigPath, AfterValidator(refuse_file)]
#: A file to write.
CsvPath = Annotated[ConfigPath, AfterValidator(require_csv)]
ConfigPaths = Annotated[tuple[ConfigPath, ...], Field(strict=False), BeforeValidator(as_list)]
Names = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(as_list)]
#: Names of what is left out, which may be nothing.
AnyNames = Annotated[tuple[str, ...], Field(strict=False), BeforeValidator(as_list_or_none)]
#: ``block+tract``, or table names.
TableChoice = Annotated[str | tuple[str, ...], BeforeValidator(choose)]


def require_room(value: object) -> object:
    """Refuse numbers, at any depth, that arrays and files cannot store exactly."""
    if isinstance(value, int | float) and abs(value) > MOST:
        raise PydanticCustomError("number", f"a number up to {MOST:,} is expected")
    if isinstance(value, tuple | list):
        for each in value:
            require_room(each)
    if isinstance(value, dict):
        for each in value.values():
            require_room(each)
    return value


class ConfigModel(BaseModel):
    """Base of all models of the config: frozen, strict, no unknown keys.

    Numbers must be finite, and at most `MOST`.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, defer_build=True, allow_inf_nan=False
    )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Show what was given, not the defaults."""
        return [each for each in super().__repr_args__() if each[0] in self.model_fields_set]

    @field_validator("*", mode="after")
    @classmethod
    def _has_room(cls, value: object) -> object:
        return require_room(value)


class Section(ConfigModel):
    """Base of the sections of stages.

    Attributes:
        example: Example of the keys that the section needs, as a flag.
    """

    example: ClassVar[str] = ""

    def check(self, release: Release) -> None:
        """Refuse values that the release does not support, before the first stage runs."""

    def complete(self, release: Release) -> Release:
        """Add to the release what a file named in the section states about it.

        Raises:
            ConfigError: There is no such file; the message begins with its key.
        """
        return release

    def inputs(self, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """List the files and folders that the stage reads outside the work folder."""
        return ()

    def outputs(self) -> tuple[Path, ...]:
        """List the files that the stage writes outside its own folders."""
        return ()

    @property
    def fixed_seed(self) -> int:
        """Return the key ``seed``; 0 where neither the section nor its run has one."""
        seed: int | None = getattr(self, "seed", None)
        return seed or 0

    @property
    def compares_with_study(self) -> bool:
        """Report whether the run is compared with a published study, and so uses its terms."""
        return False


def check_levels(names: Iterable[str] | None, release: Release, key: str = "levels") -> None:
    """Refuse levels that the release does not have.

    Args:
        names: Level names; None for a default.
        key: Key of the section that names them, for messages.

    Raises:
        ConfigError: A level is unknown; the message begins with the key.
    """
    for name in names or ():
        if name not in release.geography.by_name:
            known = ", ".join(release.geography.by_name)
            raise ConfigError(f"{key}: no level {name!r} (levels: {known})")


AnySection = TypeVar("AnySection", bound=Section)


class Top(ConfigModel):
    """The top-level keys, beside the sections.

    Attributes:
        release: Name of a packaged release, or path of a schema.
        work: The work folder.
        seed: Seed of every stage that has none of its own.
        workers: Number of processes; default one per core.
        memory: Memory that all processes on this machine may use together, as ``4 GB``; fewer
            workers run if it is little.
    """

    release: Annotated[str, BeforeValidator(place_release)]
    work: ConfigFolder | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    workers: Annotated[int, Field(ge=1)] | None = None
    memory: ByteSize | None = None


@dataclass(frozen=True)
class RunConfig:
    """A checked configuration.

    Attributes:
        top: The keys beside the sections.
        sections: The sections that the file has.
        source: Name of the file in messages.
    """

    top: Top
    sections: Mapping[str, Section] = field(default_factory=dict)
    source: str = "config"

    @property
    def work(self) -> Path:
        if self.top.work is None:
            raise ConfigError(f"{self.source}: work: missing (or give --work FOLDER)")
        return self.top.work

    def section(self, kind: type[AnySection]) -> AnySection:
        """Return the section of a type, with its defaults if the file has none.

        Raises:
            ConfigError: The file has none, and the section has keys without a default.
        """
        for found in self.sections.values():
            if isinstance(found, kind):
                return found
        name = kind.__name__.lower()
        needed = [key for key, about in kind.model_fields.items() if about.is_required()]
        if needed:
            example = f"; for example {kind.example}" if kind.example else ""
            raise ConfigError(
                f"{self.source}: {name}: missing (it needs {', '.join(needed)}{example})"
            )
        return kind()

    def load_release(self) -> Release:
        """Load the release schema, and check the sections against it.

        Raises:
            ConfigError: There is no such schema, or a section names what it does not have.
        """
        try:
            release = load_release(self.top.release)
        except ConfigError as error:
            raise ConfigError(f"{self.source}: {error}") from error
        return self.complete(release)

    def complete(self, release: Release) -> Release:
        """Add to a release what the sections' files state about it, and check them against it.

        Raises:
            ConfigError: A section names what the release does not have.
        """
        for name, section in self.sections.items():
            try:
                release = section.complete(release)
            except ConfigError as error:
                raise ConfigError(f"{self.source}: {name}.{error}") from error
        for name, section in self.sections.items():
            try:
                section.check(release)
            except ConfigError as error:
                raise ConfigError(f"{self.source}: {name}.{error}") from error
        return release
