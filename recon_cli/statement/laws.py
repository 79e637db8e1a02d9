"""The laws by their names in `protection.yaml`. A new law is a file and a line here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from recon_cli.errors import ConfigError
from recon_cli.schema.validation import describe
from recon_cli.statement.cell_key import CellKey
from recon_cli.statement.law import Exact, Law
from recon_cli.statement.noise import Gaussian, Geometric, TruncatedGeometric
from recon_cli.statement.randomized import Randomized
from recon_cli.statement.rounding import Rounded
from recon_cli.statement.statistics import Printed, Withheld
from recon_cli.statement.suppression import Stated, Suppressed, Zeroed

LAWS: Final[Mapping[str, type[Law]]] = {
    law.name: law
    for law in (
        *(Exact, Suppressed, Stated, Zeroed, Rounded, CellKey),
        *(Gaussian, Geometric, TruncatedGeometric, Randomized),
        *(Printed, Withheld),
    )
}


def parse_law(value: object, base: Path = Path()) -> Law:
    """Parse a law from YAML: its name, or its name over its parameters.

    >>> parse_law({"rounded": {"base": 3}})
    Rounded(base=3, how='random')

    Args:
        base: Folder that relative paths start from.

    Raises:
        ConfigError: There is no such law, or a parameter is wrong.
    """
    if isinstance(value, str):
        value = {value: {}}
    if not isinstance(value, dict) or len(value) != 1:
        raise ConfigError(f"expected one law ({', '.join(LAWS)}), found {value!r}")
    [(name, parameters)] = value.items()
    if name not in LAWS:
        raise ConfigError(f"no law {name!r} (there are {', '.join(LAWS)})")
    try:
        return LAWS[name].model_validate(parameters or {}, context={"base": base})
    except ValidationError as error:
        raise ConfigError(describe(error, LAWS[name], name)) from error


def law_document(law: Law) -> dict[str, Any]:
    """Return the document from which `parse_law` makes the law, without defaults."""
    return {law.name: law.model_dump(mode="json", exclude_defaults=True)}


def describe_law(law: Law) -> str:
    """Describe the law in words.

    >>> describe_law(parse_law({"rounded": {"base": 3}}))
    'rounded (base 3)'
    >>> describe_law(Suppressed())
    'suppressed (by a rule that is not known)'
    """
    [(name, parameters)] = law_document(law).items()
    if isinstance(law, CellKey) and law.table is not None:
        parameters["table"] = law.table.name
    words = ", ".join(
        key if value is True else f"{key} {value}" for key, value in parameters.items()
    )
    if isinstance(law, Suppressed) and law.below is None:
        words = ", ".join(filter(None, ("by a rule that is not known", words)))
    return f"{name} ({words})" if words else name
