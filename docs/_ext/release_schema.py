"""The reference of release schemas, from the models that read one."""

from __future__ import annotations

import re
from importlib import resources

from configuration import describe_model
from mdtext import fence, plain, table
from pydantic import BaseModel

from recon_cli.schema import load_release, spec

#: Where each model stands in a schema file.
_PLACES: tuple[tuple[str, type[BaseModel]], ...] = (
    ("The file", spec.ReleaseSpec),
    ("features.NAME", spec.FeatureSpec),
    ("recodes.NAME", spec.RecodeSpec),
    ("geography", spec.GeographySpec),
    ("geography.levels", spec.LevelSpec),
    ("families", spec.FamilySpec),
    ("families.tables.NAME", spec.TableSpec),
    ("cells: by", spec.BySpec),
    ("cells: where", spec.WhereSpec),
    ("cells: tally", spec.TallySpec),
    ("Choices of a multiselect feature", spec.ChoiceSpec),
    ("attack", spec.AttackSpec),
)


def describe_schema() -> str:
    """Every key of a schema file, place by place."""
    parts = []
    names = {model.__name__: f"[{place}](#{_anchor(place)})" for place, model in _PLACES}
    for place, model in _PLACES:
        text = (model.__doc__ or "").partition("Attributes:")[0].strip()
        about = "\n\n".join(plain(" ".join(each.split())) for each in text.split("\n\n"))
        parts.append(f"### {place}\n\n{about}\n\n{describe_model(model, names)}")
    return "\n".join(parts)


def _anchor(title: str) -> str:
    """The anchor of a heading, as GitHub and MyST make it."""
    kept = re.sub(r"[^\w\- ]", "", title.lower())
    return kept.replace(" ", "-")


def packaged_schema(name: str) -> str:
    """A packaged schema: its tables, and the whole text."""
    release = load_release(name)
    rows = [
        (f"`{each.name}`", ", ".join(each.levels), str(len(each.cells)), f"`{each.codes[0]}`")
        for each in release.tables
    ]
    path = resources.files("recon_cli.schema") / "releases" / f"{name}.yaml"
    cells = sum(len(each.cells) for each in release.tables)
    return (
        f"{release.title}: {len(release.tables)} tables with {cells:,} cells.\n\n"
        f"{table(('table', 'levels', 'cells', 'first code'), rows)}\n"
        f"{fence(path.read_text(encoding='utf-8'), 'yaml')}"
    )
