"""Load a run's configuration from a file and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError, create_model
from pydantic_core import ErrorDetails, InitErrorDetails, PydanticCustomError

from recon_cli.config.model import ConfigModel, FromCommandLine, RunConfig, Top
from recon_cli.config.sections import SECTIONS
from recon_cli.errors import ConfigError
from recon_cli.schema.validation import MOST_FINDINGS, describe
from recon_cli.strict_yaml import YamlDocument, parse_yaml, read_text

DEFAULT_FILE = "recon.yaml"


def load_config(
    path: Path | None = None,
    *,
    settings: Sequence[str] = (),
    work: Path | None = None,
    workers: int | None = None,
) -> RunConfig:
    """Load a run's configuration.

    Args:
        path: The file. Default ``recon.yaml`` in the current folder if it is there; without a
            file, ``settings`` must have all required keys.
        settings: ``key.path=value``; each overrides the file.
        work: Work folder; overrides the file.
        workers: Number of processes; overrides the file.

    Raises:
        ConfigError: The file cannot be read, is not YAML, or something in it or in ``settings``
            is unknown, missing or of the wrong kind; all findings, each with key path and line.
    """
    document, source, base = _read(path, bool(settings))
    typed: dict[tuple[str, ...], str] = {}
    for text in settings:
        keys, value = _setting(text)
        _put(document.data, keys, value, text)
        typed[keys] = text
    if work is not None:
        document.data["work"] = FromCommandLine(work)
    if workers is not None:
        document.data["workers"] = workers
    for name in SECTIONS:
        if name in document.data and document.data[name] is None:
            document.data[name] = {}  # a bare `reconstruct:` asks for the stage with its defaults
    present = tuple(name for name in document.data if name in SECTIONS)
    context = {"base": base}
    try:
        checked = _model_of(present).model_validate(document.data, context=context)
    except ValidationError:
        checked = _explain(document, source, typed, context)
    return RunConfig(checked, {name: getattr(checked, name) for name in present}, source)


def run_model() -> type[Top]:
    """Return a model of the whole file: the top-level keys and all sections."""
    return _model_of(tuple(SECTIONS))


@cache
def _model_of(sections: tuple[str, ...]) -> type[Top]:
    """Return a model of the top-level keys and some sections."""
    fields: dict[str, Any] = {name: (SECTIONS[name] | None, None) for name in sections}
    return create_model("RunConfig", __base__=Top, **fields)


def _explain(
    document: YamlDocument,
    source: str,
    typed: dict[tuple[str, ...], str],
    context: dict[str, Path],
) -> Top:
    """Validate again with a model of all sections, so that errors list every valid key."""
    model = run_model()
    try:
        return model.model_validate(document.data, context=context)
    except ValidationError as error:
        raise ConfigError("\n".join(_findings(error, model, document, source, typed))) from error


def _read(path: Path | None, has_settings: bool) -> tuple[YamlDocument, str, Path]:
    if path is None:
        path = Path(DEFAULT_FILE)
        if not path.exists():
            if has_settings:
                return YamlDocument({}), "--set", Path()
            raise ConfigError(
                f"no config: give --config FILE, or start from a folder with a {DEFAULT_FILE}; "
                "`recon init FILES` writes one for published files"
            )
    source = str(path)
    document = parse_yaml(read_text(path), source=source)
    if document.data is None:
        raise ConfigError(f"{source}: empty; a config starts with `release:` and `work:`")
    if not isinstance(document.data, dict):
        raise ConfigError(
            f"{source}: is no config: that has keys and values, such as `release: sf1_2010`; "
            "`recon init FILES` writes one for published files"
        )
    return document, source, path.parent


def _setting(text: str) -> tuple[tuple[str, ...], Any]:
    name, equals, value = text.partition("=")
    keys = tuple(name.strip().split("."))
    if not equals or not all(keys):
        raise ConfigError(f"--set {text!r}: expected key.path=value, as in reconstruct.seed=7")
    return keys, _typed_here(parse_yaml(value, source=f"--set {text}").data)


def _typed_here(value: Any) -> Any:
    """Mark every text in ``value`` as typed, so that relative paths start at the current folder."""
    if isinstance(value, str):
        return FromCommandLine(value)
    if isinstance(value, list):
        return [_typed_here(item) for item in value]
    if isinstance(value, dict):
        return {key: _typed_here(item) for key, item in value.items()}
    return value


def _put(data: dict[str, Any], keys: tuple[str, ...], value: Any, text: str) -> None:
    for i, key in enumerate(keys[:-1]):
        inner = data.get(key)
        if inner is None:
            inner = data[key] = {}
        if not isinstance(inner, dict):
            raise ConfigError(f"--set {text!r}: {'.'.join(keys[: i + 1])} has no keys in it")
        data = inner
    data[keys[-1]] = value


def _findings(
    error: ValidationError,
    model: type[ConfigModel],
    document: YamlDocument,
    source: str,
    typed: dict[tuple[str, ...], str],
) -> list[str]:
    """Format one line for each error, with its origin: ``file:line:`` or ``--set``."""
    found: dict[str, None] = {}
    every = error.errors(include_url=False)
    places = {each["loc"] for each in every}
    for each in every[:MOST_FINDINGS]:
        loc = each["loc"]
        if each["type"] == "too_short" and any(loc == p[: len(loc)] != p for p in places):
            continue  # pydantic leaves out what is wrong in a list before it counts
        single = _single(error.title, each)
        setting = next((text for keys, text in typed.items() if loc[: len(keys)] == keys), None)
        line = document.line(loc)
        if setting is not None:
            where = f"--set {setting}"
        else:
            where = source if line is None else f"{source}:{line}"
        found[f"{where}: {describe(single, model)}"] = None
    more = error.error_count() - MOST_FINDINGS
    return [*found, *([f"{source}: and {more:,} more findings"] if more > 0 else [])]


def _single(title: str, finding: ErrorDetails) -> ValidationError:
    loc, value, ctx = finding["loc"], finding["input"], finding.get("ctx", {})
    try:
        known = InitErrorDetails(type=finding["type"], loc=loc, input=value, ctx=ctx)
        return ValidationError.from_exception_data(title, [known])
    except KeyError:  # not one of pydantic's own kinds, but one of our validators'
        ours = PydanticCustomError("config", "{text}", {"text": finding["msg"]})
        return ValidationError.from_exception_data(
            title, [InitErrorDetails(type=ours, loc=loc, input=value)]
        )
