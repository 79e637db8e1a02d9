"""The sections of the config: ``options.py`` of each capability that has one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from functools import cached_property

from recon_cli import capabilities
from recon_cli.config.model import Section

#: The section of the runner itself.
_CLUSTER = {"cluster": "recon_cli.config.cluster"}


class _Sections(Mapping[str, type[Section]]):
    """Maps section names to their models, which are imported on demand: most runs need few."""

    @cached_property
    def _modules(self) -> dict[str, str]:
        """Map each section name to the module that defines its model."""
        (home,) = capabilities.__path__
        found = {
            name: f"{capabilities.__name__}.{name}.options"
            for name in capabilities.CAPABILITIES
            for module in pkgutil.iter_modules([f"{home}/{name}"])
            if module.name == "options"
        }
        return dict(sorted({**found, **_CLUSTER}.items()))

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
