"""Catalogues of downloadable files. Addresses are data: ``catalogues/``."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Literal

from pydantic import ValidationError

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema.spec import Spec
from recon_cli.schema.validation import describe
from recon_cli.strict_yaml import parse_yaml

_FOLDER = resources.files(__package__) / "catalogues"
_STATES = resources.files(__package__) / "states.yaml"
_SUFFIX = ".yaml"
#: Default release for downloads.
DEFAULT_RELEASE = "sf1_2010"


@dataclass(frozen=True)
class CatalogueFile:
    """One downloadable file.

    Attributes:
        key: The state's short name: ``al``.
        name: The state's long name: ``Alabama``.
        number: The state's code: ``01``.
        path: Path below the site's address: ``Alabama/al2010.sf1.zip``.
    """

    key: str
    name: str
    number: str
    path: str

    @property
    def file(self) -> str:
        return self.path.rsplit("/", 1)[-1]


class Catalogue(Spec):
    """All files of a release.

    Attributes:
        source: Format that `recon ingest` reads the files as.
        site: The publisher's address.
        path: Path of a state's file below ``site``, with ``{folder}`` and ``{key}``.
    """

    release: str
    title: str
    source: Literal["sf1-legacy", "pl-legacy", "dhc-legacy"]
    site: str
    path: str

    @cached_property
    def parts(self) -> tuple[CatalogueFile, ...]:
        """Return the files, one for each state."""
        states = parse_yaml(_STATES.read_text(encoding="utf-8"), source=_STATES.name).data
        return tuple(
            CatalogueFile(
                key,
                state["name"],
                state["number"],
                self.path.format(folder=state["name"].replace(" ", "_"), key=key),
            )
            for key, state in states.items()
        )

    def find(self, text: str) -> CatalogueFile:
        """Find a part by its key, name or number.

        Raises:
            ConfigError: There is no such part.

        >>> catalogue = load_catalogue("sf1_2010")
        >>> [catalogue.find(text).key for text in ("AL", "alabama", "01", "new-york", "1")]
        ['al', 'al', 'al', 'ny', 'al']
        """
        wanted = _plain(text)
        names = {
            _plain(name): part for part in self.parts for name in (part.key, part.name, part.number)
        }
        if wanted in names:
            return names[wanted]
        near = difflib.get_close_matches(wanted, [_plain(part.name) for part in self.parts], n=1)
        hint = f"; did you mean {names[near[0]].name}?" if near else "."
        first, last = self.parts[0], self.parts[-1]
        raise ConfigError(
            f"{self.title}: nothing is called {text!r}{hint} It has {len(self.parts)} files, "
            f"from {first.key} ({first.name}, {first.number}) "
            f"to {last.key} ({last.name}, {last.number})"
        )

    def address(self, part: CatalogueFile, mirror: str | None = None) -> str:
        """Return the address of ``part``: on the publisher's site, or on a mirror."""
        return f"{(mirror or self.site).rstrip('/')}/{part.path}"


def catalogued_releases() -> tuple[str, ...]:
    """List the releases whose files can be downloaded."""
    names = [entry.name for entry in _FOLDER.iterdir() if entry.name.endswith(_SUFFIX)]
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))


def load_catalogue(release: str) -> Catalogue:
    """Load the catalogue of a release.

    Raises:
        ConfigError: The release has no catalogue.
    """
    if release not in catalogued_releases():
        raise ConfigError(
            f"release {release!r} has no addresses to download from "
            f"(releases that have: {', '.join(catalogued_releases())}; choose with --release)"
        )
    text = (_FOLDER / f"{release}{_SUFFIX}").read_text(encoding="utf-8")
    try:
        return Catalogue.model_validate(parse_yaml(text, source=f"catalogue {release}").data)
    except ValidationError as error:
        raise SchemaError(f"catalogue {release}: {describe(error, Catalogue)}") from error


def _plain(text: str) -> str:
    """Normalise case, separators and leading zeros."""
    return text.strip().casefold().replace("_", " ").replace("-", " ").lstrip("0")
