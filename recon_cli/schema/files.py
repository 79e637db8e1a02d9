"""Schema files: packaged releases, a user's own release, a register of several."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

from recon_cli.errors import ConfigError, SchemaError
from recon_cli.schema.load import parse_release
from recon_cli.schema.register import Register, compose, register_spec
from recon_cli.schema.release import Release
from recon_cli.strict_yaml import read_text

_RELEASES: Final = Path(__file__).parent / "releases"
#: The key that makes a file a register.
_REGISTER: Final = re.compile(r"^register\s*:", re.MULTILINE)


def packaged_releases() -> tuple[str, ...]:
    """List the names of the packaged schemas.

    >>> packaged_releases()[:3]
    ('clinic_visits', 'dhc_2020', 'dhc_2020_households')
    """
    return tuple(sorted(path.stem for path in _RELEASES.glob("*.yaml")))


def load_release(name_or_path: str, *, base: Path | None = None) -> Release:
    """Load a packaged release by name, or a schema or register file by path.

    Args:
        name_or_path: ``sf1_2010``, or a path that ends in ``.yaml`` or ``.yml``.
        base: Folder that a relative path starts from; default the current one.

    Raises:
        ConfigError: No such schema.
        SchemaError: The schema is malformed; the message names the key.

    >>> import recon_cli as recon
    >>> recon.load_release("clinic_visits")
    <Release clinic_visits: 6 tables, 134 cells; clinic < district>
    """
    if not name_or_path.endswith((".yaml", ".yml")):
        if name_or_path not in packaged_releases():
            raise ConfigError(
                f"release: no packaged schema {name_or_path!r} "
                f"(packaged: {', '.join(packaged_releases())}; or give the path of a .yaml file)"
            )
        return _packaged(name_or_path)
    path = (base or Path()) / name_or_path
    text = read_text(path)
    if not _REGISTER.search(text):
        return parse_release(text, source=str(path))
    register = load_register(path)
    try:
        return compose(register)
    except SchemaError as error:
        raise SchemaError(f"{path}: {error}") from error


@cache
def _packaged(name: str) -> Release:
    path = _RELEASES / f"{name}.yaml"
    return parse_release(path.read_text(encoding="utf-8"), source=path.name)


def load_register(path: Path) -> Register:
    """Load a register with the schemas of its publications.

    Raises:
        ConfigError: A file is not there.
        SchemaError: A file is malformed, or a publication is a register itself.
    """
    spec = register_spec(path)
    releases = [load_release(each.release, base=path.parent) for each in spec.publications]
    for each, release in zip(spec.publications, releases, strict=True):
        if release.publications:
            raise SchemaError(f"{path}: {each.name}: {each.release} is a register itself")
    return Register(spec, tuple(releases))
