"""One module a section. A new stage adds a module here and nothing else.

A module ``solvar`` defines the section ``solvar`` as its only public `Section` subclass. That of
`recon check` is with its rules.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping

from recon_cli.config.model import Section


class _Sections(Mapping[str, type[Section]]):
    """Section name → its model, which is imported when it is asked for: most runs need few."""

    def __init__(self) -> None:
        here = {
            module.name: f"{__name__}.{module.name}" for module in pkgutil.iter_modules(__path__)
        }
        self._modules = dict(
            sorted({**here, "check": "recon_cli.capabilities.check.options"}.items())
        )

    def __getitem__(self, name: str) -> type[Section]:
        module = importlib.import_module(self._modules[name])
        return next(
            member
            for member in vars(module).values()
            if isinstance(member, type)
            and issubclass(member, Section)
            and member.__module__ == module.__name__
        )

    def __contains__(self, name: object) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


#: Section name → its model.
SECTIONS: Mapping[str, type[Section]] = _Sections()
