"""``protection.yaml``: the law of each published number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
import yaml

from recon_cli.coverage import Coverage
from recon_cli.errors import ConfigError
from recon_cli.frames import OPEN
from recon_cli.schema import Release, Table
from recon_cli.statement.law import Exact, Law
from recon_cli.statement.laws import law_document, parse_law
from recon_cli.statement.noise import Gaussian, Geometric
from recon_cli.statement.statistics import Printed, StatisticLaw, Withheld
from recon_cli.statement.suppression import Stated, Suppressed, is_marker
from recon_cli.strict_yaml import YamlDocument, parse_yaml

_KEYS: Final = ("tables", "levels", "markers", "law")


@dataclass(frozen=True)
class Statement:
    """A law, and the published numbers that it applies to.

    Attributes:
        tables: Names of tables; None for all.
        levels: Names of levels; None for all.
        markers: The only texts, in place of a count, to which it applies; None for no such limit.
    """

    law: Law
    tables: tuple[str, ...] | None = None
    levels: tuple[str, ...] | None = None
    markers: tuple[str, ...] | None = None

    def holds_for(self, table: str, level: str) -> bool:
        """Test whether it applies to some cells of a table at a level."""
        return (self.tables is None or table in self.tables) and (
            self.levels is None or level in self.levels
        )

    def reading(self, marker: str) -> Law:
        """Return the law for a text in place of a count.

        A text that is listed need not look like a marker: it stands for a suppressed count.

        Raises:
            ValueError: The law does not say what the text stands for.
        """
        is_own = self.markers is not None and marker in self.markers and not is_marker(marker)
        return self.law.reading("*" if is_own and not isinstance(self.law, Stated) else marker)

    def document(self) -> dict[str, Any]:
        """Return the entry of `protection.yaml`."""
        selection = {
            name: list(names)
            for name in ("tables", "levels", "markers")
            if (names := getattr(self, name)) is not None
        }
        return {**selection, "law": law_document(self.law)}


@dataclass(frozen=True)
class Protection:
    """The laws of a release: the first statement that applies to a count, else the exact law.

    Attributes:
        statements: In order of precedence.
        is_study: Whether random draws followed from a seed: the numbers are not for publication.
    """

    statements: tuple[Statement, ...] = ()
    is_study: bool = False

    @property
    def laws(self) -> tuple[Law, ...]:
        """List the statements' laws, then the exact one."""
        return (*(statement.law for statement in self.statements), Exact())

    @property
    def has_unknown_rule(self) -> bool:
        """Test whether a law leaves open below which number counts are suppressed.

        Somebody who knows the rule may know more than is proven without it.
        """
        return any(isinstance(law, Suppressed) and law.below is None for law in self.laws)

    @property
    def markers(self) -> frozenset[str]:
        """Collect the texts that statements list, which are no numbers even if they look so."""
        return frozenset(text for each in self.statements for text in each.markers or ())

    def reading(self, number: int, marker: str) -> Law:
        """Return the law for a text in place of a count, by the index of its law.

        Raises:
            ValueError: The law does not say what the text stands for.
        """
        if number < len(self.statements):
            return self.statements[number].reading(marker)
        return Exact().reading(marker)

    def number(self, table: str, level: str, marker: str | None = None) -> int:
        """Return the index in `laws` of the law for a published number, or for a marker."""
        for number, statement in enumerate(self.statements):
            of_marker = statement.markers is None or marker in statement.markers
            if of_marker and statement.holds_for(table, level):
                return number
        return len(self.statements)

    def ends_of_zero(self, table: str, level: str) -> tuple[int, int]:
        """Return the least and the greatest true count of a published zero of a table at a level.

        A p-table may publish some people as zero, and nobody as some. If it publishes no count as
        zero, an absent row states nothing: 0 to `recon_cli.frames.OPEN`.
        """
        return self._ends_of_zero[self.number(table, level)]

    def is_true_zero(self, table: str, level: str) -> bool:
        """Test whether a published zero of a table at a level proves that nobody is counted."""
        return self.ends_of_zero(table, level) == (0, 0)

    @cached_property
    def _ends_of_zero(self) -> tuple[tuple[int, int], ...]:
        """Compute the interval of a published zero under each of `laws`."""
        zero = np.array(0)
        ends = (law.intervals(zero) if law.fits(zero) else (0, OPEN) for law in self.laws)
        return tuple((int(low), int(high)) for low, high in ends)

    def printing(self, table: str, level: str, text: str) -> Printed | Withheld:
        """Return the law of a printed statistic: the first statement that applies."""
        for statement in self.statements:
            law = statement.law
            is_named = statement.tables is not None and statement.holds_for(table, level)
            of_text = statement.markers is None or text in statement.markers
            if isinstance(law, Printed | Withheld) and is_named and of_text:
                return law
        return Printed()

    def is_exact(self, table: str, level: str) -> bool:
        """Test whether every count of a table at a level is exact."""
        return not any(
            statement.holds_for(table, level) and not isinstance(statement.law, Exact)
            for statement in self.statements
        )


#: The protection of a release whose counts are all exact.
EXACT: Final = Protection()


def load_protection(path: Path, release: Release) -> Protection:
    """Read a protection file.

    Args:
        path: A YAML file with ``statements`` and maybe ``release`` and ``study``.
        release: The release with the tables and levels that the file names.

    Raises:
        ConfigError: The file cannot be read or is wrong; the message names file, line and key.

    >>> import recon_cli as recon
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "protection.yaml")
    >>> _ = path.write_text("statements: [{law: {suppressed: {below: 5}}}]")
    >>> recon.load_protection(path, recon.load_release("clinic_visits")).laws[0].below
    5
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError(f"{path}: cannot be read: {reason}") from error
    document = parse_yaml(text, source=str(path))
    if not isinstance(document.data, dict):
        raise _error(document, path, ("statements",), "expected a list of laws")
    for key in document.data:
        if key not in {"release", "study", "statements"}:
            raise _error(document, path, (key,), "unknown key (keys: release, study, statements)")
    named = document.data.get("release", release.name)
    if named != release.name:
        message = f"expected the release of the run, {release.name!r}, found {named!r}"
        raise _error(document, path, ("release",), message)
    is_study = document.data.get("study", False)
    if not isinstance(is_study, bool):
        raise _error(document, path, ("study",), f"expected true or false, found {is_study!r}")
    entries = document.data.get("statements")
    if not isinstance(entries, list) or not entries:
        raise _error(document, path, ("statements",), "expected a list of laws")
    return Protection(
        tuple(_statement(document, path, release, i, entry) for i, entry in enumerate(entries)),
        is_study,
    )


def protection_text(
    release: Release, statements: Sequence[Statement], *, is_study: bool = False
) -> str:
    """Write the text of a protection file."""
    document = {
        "release": release.name,
        **({"study": True} if is_study else {}),
        "statements": [statement.document() for statement in statements],
    }
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def is_noise(protection: Protection, coverage: Coverage, tables: Iterable[Table]) -> bool:
    """Test whether all published counts of some tables have unbounded noise: no proofs."""
    names = {table.name for table in tables}
    laws = [
        protection.laws[protection.number(table, pattern.level)]
        for pattern in coverage
        for table in pattern.cells
        if table in names
    ]
    return bool(laws) and all(isinstance(law, Gaussian | Geometric) for law in laws)


def _statement(
    document: YamlDocument, path: Path, release: Release, i: int, entry: Any
) -> Statement:
    here: tuple[str | int, ...] = ("statements", i)
    if not isinstance(entry, dict) or "law" not in entry:
        raise _error(document, path, here, "expected a law, and the tables and levels it holds for")
    for key in entry:
        if key not in _KEYS:
            known = ", ".join(_KEYS)
            raise _error(document, path, (*here, key), f"unknown key {key!r} (keys: {known})")
    known_names = {
        "tables": {*release.table_by_name, *release.statistic_by_name},
        "levels": set(release.geography.by_name),
        "markers": None,
    }
    selection: dict[str, tuple[str, ...]] = {}
    for key, known_here in known_names.items():
        if key not in entry:
            continue
        names = entry[key] if isinstance(entry[key], list) else [entry[key]]
        for name in names:
            if not isinstance(name, str) or (known_here is not None and name not in known_here):
                message = f"no {key.removesuffix('s')} {name!r} in release {release.name!r}"
                raise _error(document, path, (*here, key), message)
        selection[key] = tuple(names)
    try:
        statement = Statement(parse_law(entry["law"], path.parent), **selection)
        for marker in selection.get("markers", ()):
            statement.reading(marker)
        _require_place(statement.law, selection, release)
    except (ConfigError, ValueError) as error:
        raise _error(document, path, (*here, "law"), str(error)) from error
    return statement


def _require_place(law: Law, selection: dict[str, tuple[str, ...]], release: Release) -> None:
    """Refuse a law of counts for statistics, and the reverse.

    Raises:
        ConfigError: The law does not fit the tables.
    """
    named = selection.get("tables", ())
    if not isinstance(law, StatisticLaw):
        if of := [name for name in named if name in release.statistic_by_name]:
            raise ConfigError(f"{law.name} is a law of counts, {of[0]} has statistics")
        return
    counts = [name for name in named if name not in release.statistic_by_name]
    if counts or not named:
        what = f"{counts[0]} has counts" if counts else "name the tables"
        raise ConfigError(f"{law.name} is a law of statistics; {what}")


def _error(
    document: YamlDocument, path: Path, loc: tuple[str | int, ...], message: str
) -> ConfigError:
    line = document.line(loc)
    where = str(path) if line is None else f"{path}:{line}"
    key = ".".join(str(part) for part in loc)
    return ConfigError(f"{where}: {key}: {message}")
