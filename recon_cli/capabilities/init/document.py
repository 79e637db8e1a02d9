"""The text of a first config. Its comments on keys come from the config models themselves."""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, NoneType
from typing import Any, Final, Literal, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from recon_cli.capabilities.init.declared import NOTHING_DECLARED, Declared
from recon_cli.capabilities.init.protection_draft import drafted_reading
from recon_cli.capabilities.init.recognised import RecognisedFiles
from recon_cli.capabilities.init.schema_draft import flow
from recon_cli.capabilities.init.statistic_words import told_statistics
from recon_cli.config import DEFAULT_FILE, SECTIONS
from recon_cli.config.keys import meanings_of
from recon_cli.config.model import Top
from recon_cli.coverage import PROTECTION, count_left_out
from recon_cli.errors import ConfigError
from recon_cli.statement.suppression import Suppressed, is_marker
from recon_cli.statement.texts import interval_said, threshold_of

#: Sections that `recon run` does, and commented ones, which need files that not everybody has, or
#: more time than an office wants.
_ASKED: Final = ("ingest", "reconstruct", "audit", "solvar", "claims", "report")
_OFFERED: Final = ("link", "score")
#: The section of an office's gate, and an example of the number below which no count may be known.
_GATE: Final = "check"
_EXAMPLE: Final = 5

_WIDTH: Final = 78
#: The threshold below which agencies mostly suppress; offered where no marker states one.
_USUAL: Final = 3

Values = Mapping[str, object]


def compose(found: RecognisedFiles, target: Path) -> str:
    """Return the config as YAML with comments.

    Every key of its sections is there; a key behind ``#`` has its default.

    Args:
        target: The path of the config; paths in the config are relative to its folder.

    Raises:
        ConfigError: The config would be in a folder that is read whole.
    """
    here = target.parent.resolve()
    for path in found.paths:
        if path.is_dir() and here.is_relative_to(path.resolve()):
            raise ConfigError(
                f"{target}: is in {path}, and every file in there is input; "
                "write the config somewhere else with --to"
            )
    is_file = found.release.endswith((".yaml", ".yml"))
    release = _relative(Path(found.release), target) if is_file else found.release
    below = found.declared.below
    top = {"release": release, "work": f"work/{_work(found, target)}"}
    levels = [level.name for level in found.schema.geography.levels]
    finest = {found.schema.finest_level(table).name for table in found.schema.tables}
    chosen: dict[str, Values] = {
        "ingest": {
            "source": found.source,
            "paths": [_relative(path, target) for path in found.paths],
            **({"mapping": found.mapping} if found.mapping else {}),
            **({"names": _relative(names_file(target), target)} if found.names else {}),
            **({"geounits": _relative(places_file(target), target)} if found.places else {}),
            **(
                {"protection": _relative(protection_file(target), target)}
                if found.needs_law
                else {}
            ),
        },
        "reconstruct": {"tables": "+".join(name for name in levels if name in finest)},
        "solvar": {"mode": "relaxed"},
        _GATE: {"rules": [{"recovered": {"below": below or _EXAMPLE}, "most": 0}]},
    }
    lines = [*_opening(found), "", *_keys(Top, top, "")]
    gate = (_GATE,) if found.draft is not None and found.withholds else ()
    for name in (*_ASKED, *gate, *_OFFERED):
        is_offered = name in _OFFERED or (name == "solvar" and found.draft is not None)
        is_offered |= name == _GATE and not below
        asked = not is_offered and (found.withholds or name != "audit")
        if name in SECTIONS and (asked or is_offered):
            lines += ["", *_section(name, chosen.get(name, {}), asked=asked)]
    return "\n".join(lines) + "\n"


def protection_file(target: Path) -> Path:
    """Return the path of the drafted protection, beside the config."""
    return target.with_name(f"{target.stem}.{PROTECTION}")


def names_file(target: Path) -> Path:
    """Return the path of the names of places, beside the config."""
    return target.with_name(f"{target.stem}.names.csv")


def places_file(target: Path) -> Path:
    """Return the path of the list of all places, beside the config."""
    return target.with_name(f"{target.stem}.geounits.csv")


def reading_file(target: Path) -> Path:
    """Return the path of the page that shows how the files are read, beside the config."""
    return target.with_name(f"{target.stem}.reading.html")


def schema_file(target: Path, name: str) -> Path:
    """Return the path of the drafted schema: beside the config, and never in its place.

    Args:
        name: The file name of the schema, unless the config has this name.
    """
    path = target.with_name(name)
    taken = {file.name.casefold() for file in (target, protection_file(target))}
    return path.with_suffix(".schema.yaml") if name.casefold() in taken else path


def compose_protection(
    markers: Sequence[str],
    base: int | None,
    declared: Declared = NOTHING_DECLARED,
    printed: Values = MappingProxyType({}),
    shown_below: int = 0,
    *,
    bases: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Return the weakest laws that fit the files, as YAML to be narrowed down or corrected.

    Args:
        markers: Texts in place of suppressed counts.
        base: The number of which all counts are multiples, if they look rounded.
        declared: What the user says of the law.
        printed: Table of statistics → texts in place of its numbers.
        shown_below: Number of shown counts that the rule would suppress; if there are any, the rule
            is for the markers alone.
        bases: Table → the number of which its counts are multiples, where tables differ.
    """
    lines = list(_suppression(markers, declared))
    statements: list[str] = []
    statements += _drafted_laws(markers, declared, is_listed=bool(base or shown_below))
    if base:
        if declared.rounding is None and not bases:
            lines += [
                *_comment(
                    f"All counts are multiples of {base}. As it is, each was rounded up or down by "
                    "less than that. If they were rounded to the nearest multiple, this proves "
                    "more:"
                ),
                f"#   - {{law: {{rounded: {{base: {base}, how: nearest}}}}}}",
                *_comment("If they are exact after all, take the line away."),
            ]
        for own in sorted({*bases.values()}) or [base]:
            rounded = _yaml(declared.rounded_to(own).model_dump(exclude_unset=True))
            tables = ", ".join(table for table, each in bases.items() if each == own)
            some = f"tables: [{tables}], " if tables else ""
            statements.append(f"  - {{{some}law: {{rounded: {rounded}}}}}")
    if printed:
        lines += _comment(
            "Statistics were rounded, by which rule for ties is not known; a text in place of one "
            "proves nothing."
        )
        for table, marks in printed.items():
            if marks:
                shown = _yaml(marks)
                statements.append(f"  - {{tables: [{table}], markers: {shown}, law: withheld}}")
            statements.append(f"  - {{tables: [{table}], law: {{printed: {{ties: unknown}}}}}}")
    return "\n".join([*lines, "statements:", *statements]) + "\n"


def _suppression(markers: Sequence[str], declared: Declared) -> Iterator[str]:
    """Yield comments on the laws of texts in place of counts: the user's, or narrower ones."""
    unknown = [each for each in markers if declared.rule_of(each) is None]
    if len(unknown) < len(markers):
        yield from _comment("By which law counts were suppressed, as `recon init` was told.")
        if unknown:
            yield from _comment(f"Of others nobody said it: {drafted_reading(unknown)}.")
        return
    if not markers:
        return
    yield from _comment(
        f"By which law counts were suppressed. As it is, {drafted_reading(markers)}. A narrower "
        "law proves more, and a wrong one gives wrong proofs."
    )
    for which, law in _narrower_laws(markers):
        yield from (*_comment(f"{which}:"), f"#   - {{law: {law}}}")
    if stated := [each for each in markers if interval_said(each)]:
        hidden = ", ".join(map(repr, stated))
        yield from _comment(f"If {hidden} may hide greater counts, say so in the config:")
        yield f"#   mapping: {{unpublished: {_yaml(stated)}}}"


def _drafted_laws(markers: Sequence[str], declared: Declared, *, is_listed: bool) -> Iterator[str]:
    """Yield the statements for texts in place of counts: the interval of a text, else its rule."""
    stated = [each for each in markers if interval_said(each) and not is_marker(each)]
    rest = [each for each in markers if each not in stated]
    if stated:
        yield f"  - {{markers: {_yaml(stated)}, law: stated}}"
    rules: dict[str, list[str]] = {}
    for marker in rest:
        rule = declared.rule_of(marker) or Suppressed(flagged="may-be-zero")
        rules.setdefault(_yaml(rule.model_dump(exclude_defaults=True)), []).append(marker)
    is_listed = is_listed or bool(stated) or len(rules) > 1 or not all(map(is_marker, rest))
    for keys, own in rules.items():
        which = f"markers: {_yaml(own)}, " if is_listed else ""
        yield f"  - {{{which}law: {{suppressed: {keys}}}}}"


def _narrower_laws(markers: Sequence[str]) -> list[tuple[str, str]]:
    """Return laws that would prove more than the drafted one: when each holds, and its YAML."""
    said = {below for each in markers if (below := threshold_of(each))}
    if len(said) > 1:
        return [("Counts above zero alone", "{suppressed: {flagged: positive}}")]
    below = max(said, default=_USUAL)
    small = f"1 {'and' if below == _USUAL else 'to'} {below - 1}"
    laws = [(f"Counts of {small} alone", f"{{suppressed: {{below: {below}}}}}")]
    if any(threshold_of(each) is None for each in markers):
        law = f"{{suppressed: {{below: {below}, complementary: true}}}}"
        laws.append((f"Counts of {small}, and others that protect them", law))
    return laws


def _opening(found: RecognisedFiles) -> Iterator[str]:
    yield from _comment(f"{found.schema.title}.")
    for about in found.about:
        yield from _comment(f"{about}.")
    if unused := [*found.left_out, *found.unread]:
        yield from _comment(f"Not used: {count_left_out(unused)}.")
        for line in told_statistics(unused):
            yield from _comment(f"{line[0].upper()}{line[1:]}.")
    for doubt in found.doubts:
        yield from _comment(f"Could not be told: {doubt}.")
    yield from _comment(
        "A key behind # has its default; take the # away to change it. `recon run` does the "
        "sections that are here."
    )


def _section(name: str, chosen: Values, *, asked: bool) -> Iterator[str]:
    model = SECTIONS[name]
    about = (sys.modules[model.__module__].__doc__ or "").split("``", 2)[-1]
    said = " ".join(about.partition("Example:")[0].split())
    yield from _comment(f"recon {name}: {_plain(said)}")
    yield f"{'' if asked else '#'}{name}:"
    yield from _keys(model, chosen, "  ", asked=asked)


def _keys(
    model: type[BaseModel], chosen: Values, indent: str, *, asked: bool = True
) -> Iterator[str]:
    """Describe every key of a model: its meaning, its valid values, and its value."""
    documented = descriptions(model)
    for name, field in model.model_fields.items():
        about = documented.get(name, "")
        yield from _comment(" ".join(filter(None, (about, _allowed(field, about)))), indent)
        if name in chosen:
            yield from _entry(name, chosen[name], indent if asked else f"{indent}#")
        else:
            default = None if field.is_required() else field.get_default(call_default_factory=True)
            yield from _entry(name, default, f"{indent}#")


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Map each key to its description in the model."""
    return {key: _plain(said) for key, said in meanings_of(model).items()}


def _plain(text: str) -> str:
    return text.replace("``", "`")


def _allowed(field: FieldInfo, about: str) -> str:
    """Return the valid values of the type, unless ``about`` has them."""
    for kind, limits in _kinds(field.annotation, field.metadata):
        if get_origin(kind) is Literal:
            words = [str(value) for value in get_args(kind)]
            return "" if all(f"`{word}`" in about for word in words) else f"({' or '.join(words)})"
        if kind is bool:
            return "(true or false)"
        if kind in (int, float):
            noun = "whole number" if kind is int else "number"
            return f"({', '.join([noun, *_limits(limits)])})"
    return ""


def _kinds(annotation: Any, metadata: list[Any]) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the types that a value may have, except None, each with its limits."""
    if hasattr(annotation, "__metadata__"):
        inner = [
            each
            for extra in annotation.__metadata__
            for each in (extra.metadata if isinstance(extra, FieldInfo) else [extra])
        ]
        yield from _kinds(get_args(annotation)[0], [*metadata, *inner])
    elif get_origin(annotation) in (Literal, list, tuple, dict) or not get_args(annotation):
        if annotation is not NoneType:
            yield annotation, metadata
    else:
        for inner_type in get_args(annotation):
            yield from _kinds(inner_type, metadata)


def _limits(metadata: list[Any]) -> Iterator[str]:
    for each in metadata:
        match each:
            case annotated_types.Ge(ge=least):
                yield f"{least} or more"
            case annotated_types.Gt(gt=bound):
                yield f"more than {bound}"
            case annotated_types.Lt(lt=bound):
                yield f"less than {bound}"


def _entry(name: str, value: object, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield f"{indent}{name}:"
        for key, each in value.items():
            yield from _entry(_yaml(key), each, f"{indent}  ")
    elif isinstance(value, list):
        yield f"{indent}{name}:"
        yield from (f"{indent}  - {_yaml(item)}" for item in value)
    else:
        yield f"{indent}{name}: {_yaml(value)}"


def _yaml(value: object) -> str:
    plain = list(value) if isinstance(value, tuple) else value
    if isinstance(plain, str) and plain.isdigit():
        return f"'{plain}'"  # 0108 is text to one version of YAML, a number to another
    return flow(plain)


def _comment(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=f"{indent}# ",
        subsequent_indent=f"{indent}# ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _work(found: RecognisedFiles, target: Path) -> str:
    """Return a run's name: ``al2010`` for one state, else the config's or the release's.

    So two configs for one file share no folder.
    """
    if target.name != DEFAULT_FILE:
        return target.stem
    if len(found.paths) > 1:
        return found.schema.name
    return found.paths[0].resolve().name.split(".")[0] or found.schema.name


def _relative(path: Path, target: Path) -> str:
    """Return ``path`` relative to the config's folder, or from the root if there is no way."""
    try:
        return Path(os.path.relpath(path.absolute(), target.parent.resolve())).as_posix()
    except ValueError:  # another drive
        return path.absolute().as_posix()


def grid_lines(mapping: Mapping[str, object]) -> Iterator[str]:
    """Say what the first two and the last labels of columns, rows and dimensions count."""
    labels = mapping.get("labels", {})
    if not isinstance(labels, Mapping):
        raise TypeError("mapping.labels is none")
    for axis, own in labels.items():
        ends = list(own.items())
        chosen = dict([*ends[:2], *ends[-1:]])
        shown = [f"{label!r} is {_counted(condition)}" for label, condition in chosen.items()]
        more = f" … ({len(ends)} {axis})" * (len(ends) > len(shown))
        yield f"{'' if axis == 'columns' else f'{axis}: '}{', '.join(shown)}{more}"
    shares = mapping.get("percentages", {})
    if not isinstance(shares, Mapping):
        raise TypeError("mapping.percentages is none")
    for number, (header, said) in enumerate(list(shares.items())[:2]):
        more = f" … ({len(shares)} columns of percentages)" if number and len(shares) > 2 else ""
        yield f"{header!r} is the share of {said['of']!r} among {said['base']!r}{more}"
    printed = mapping.get("statistics", {})
    if not isinstance(printed, Mapping):
        raise TypeError("mapping.statistics is none")
    for number, (header, said) in enumerate(list(printed.items())[:2]):
        more = f" … ({len(printed)} columns)" if number and len(printed) > 2 else ""
        yield f"{header!r} of {said['of']!r} is {said['table']}{more}"


def _counted(condition: Mapping[str, object]) -> str:
    words = []
    for feature, values in condition.items():
        own = values if isinstance(values, list) else [values]
        words.append(f"{feature} {' or '.join(map(str, own))}")
    return ", ".join(words) or "everybody"
