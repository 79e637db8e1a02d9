"""One module a section. A new stage adds a module here and nothing else.

A module ``solvar`` defines the section ``solvar`` as its only public `Section` subclass.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from recon_cli.config.model import Section


class _Sections(Mapping[str, type[Section]]):
    """Section name → its model, which is imported when it is asked for: most runs need few."""

    def __init__(self) -> None:
        self._names = tuple(module.name for module in pkgutil.iter_modules(__path__))

    def __getitem__(self, name: str) -> type[Section]:
        if name not in self._names:
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.{name}")
        return next(
            member
            for member in vars(module).values()
            if isinstance(member, type)
            and issubclass(member, Section)
            and member.__module__ == module.__name__
        )

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


#: Section name → its model.
SECTIONS: Mapping[str, type[Section]] = _Sections()
