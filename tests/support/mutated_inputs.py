"""Everything that a user hands over, damaged by chance, and what the program makes of it.

A damaged file has to be refused in a line, or to be read as what it says: what an independent
reading of the same bytes says, or, where those cannot tell, what the file said before.
"""

from __future__ import annotations

import io
import json
import random
import re
import shutil
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml
from click.testing import CliRunner

from recon_cli.capabilities.records.files import Translation, open_records
from recon_cli.cli import main
from recon_cli.config import load_config
from recon_cli.errors import ReconError
from recon_cli.schema import load_release, parse_release
from recon_cli.sources import FileMapping, open_tables, open_tidy
from recon_cli.sources.formats import DimensionMapping
from recon_cli.sources.listing import read_geounit_list
from recon_cli.statement import load_protection
from recon_cli.store.folder import partitions, read_partition
from recon_cli.store.pieces import read_pieces
from recon_cli.store.protection import read_published
from recon_cli.store.published import open_published
from tests.support import naive_readers
from tests.support.command_line import recon
from tests.support.layouts import LAYOUTS, SCHEMA, counts_of
from tests.support.mutation import BYTES, DELIMITED, JSON, LINES, YAML, Change, fields, of_member
from tests.support.xml_mutation import XML

#: A refusal may have so many lines: the findings in a config, one a line.
_MOST_LINES: Final = 21
_LONGEST: Final = 6000
_BLOCKS: Final = ("340210001001000", "340210001001001", "340210002002000")
_COUNTS: Final = counts_of(
    dict(
        zip(_BLOCKS, ([3, 0, 1, 12, 5, 0], [0, 0, 0, 0, 0, 0], [1, 2, 1311, 0, 4, 9]), strict=True)
    )
)


@dataclass(frozen=True)
class Input:
    """A file that is damaged, beside others that are not.

    Attributes:
        name: Its kind.
        files: What it stands beside, by path.
        file: Its own path.
        changes: How it is damaged.
        read: What the program makes of a folder with the files.
        agrees: Whether that is what the damaged bytes say; None where they cannot tell.
    """

    name: str
    files: Mapping[str, bytes]
    file: str
    changes: Mapping[str, Change]
    read: Callable[[Path], Any]
    agrees: Callable[[bytes, Any], bool | None]


@dataclass(frozen=True)
class Case:
    """What came of a damaged file.

    Attributes:
        input: The kind of file.
        change: How it was damaged.
        outcome: ``same``, ``right`` (another content, read rightly), ``refused``; or what must not
            be: ``silent``, ``traceback``, ``long`` (a refusal of many lines).
        detail: The message, or what was read.
        seconds: Wall time.
    """

    input: str
    change: str
    outcome: str
    detail: str
    seconds: float


def run_case(seed: int, number: int, kind: str | None = None) -> Case:
    """Damage one file, and read it; the same arguments give the same bytes.

    Args:
        kind: The kind of file; default one after the other.
    """
    draw = random.Random(f"{seed}/{number}")  # noqa: S311 - cases of a test
    inputs = [each for each in all_inputs() if kind in (None, each.name)]
    given = inputs[number % len(inputs)]
    change = draw.choice(sorted(given.changes))
    pristine = given.files[given.file]
    data = pristine
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        try:
            data = given.changes[change](data, draw) if data else data
        except (ValueError, IndexError, KeyError, pl.exceptions.PolarsError):
            break  # what is left of it has no more lines, fields or values to change
    started = time.perf_counter()
    outcome, detail = read_damaged(given, data)
    return Case(given.name, change, outcome, detail, time.perf_counter() - started)


def read_damaged(given: Input, data: bytes) -> tuple[str, str]:
    """The outcome of a `Case`, and its detail."""
    with tempfile.TemporaryDirectory(prefix="recon-mutated-") as name:
        folder = Path(name)
        for path, content in {**given.files, given.file: data}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        try:
            found = given.read(folder)
        except ReconError as error:
            text = str(error)
            is_short = (
                text.count("\n") < _MOST_LINES and len(text) < _LONGEST and error.exit_code > 1
            )
            return ("refused" if is_short and text.strip() else "long"), text
        except (Exception, pl.exceptions.PanicException):  # noqa: BLE001 - that is looked for
            return "traceback", traceback.format_exc()
    agrees = given.agrees(data, found)
    if agrees is None:
        return ("same" if found == _pristine(given.name) else "silent"), repr(found)[:2000]
    if not agrees:
        return "silent", repr(found)[:2000]
    return ("same" if found == _pristine(given.name) else "right"), ""


@cache
def _pristine(name: str) -> Any:
    given = next(each for each in all_inputs() if each.name == name)
    with tempfile.TemporaryDirectory(prefix="recon-mutated-") as folder:
        for path, content in given.files.items():
            (Path(folder) / path).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / path).write_bytes(content)
        return given.read(Path(folder))


@cache
def all_inputs() -> tuple[Input, ...]:
    """Every kind."""
    return (*_published(), *_parquet(), *_yaml(), *_lists(), *_stage_files())


# --- published files ------------------------------------------------------------------------------


def _published() -> list[Input]:
    found = []
    for name, write in LAYOUTS.items():
        with tempfile.TemporaryDirectory() as folder:
            layout = write(_COUNTS, Path(folder))
            files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
        first = layout.paths[0].name
        named = [path.name for path in layout.paths]
        delimiter = {"long": ";", "eurostat_tsv": "\t"}.get(name, ",")
        changes: dict[str, Change] = {**DELIMITED, **fields(delimiter)}
        if name.startswith(("json", "census_api")):
            changes = {**BYTES, **LINES, **JSON}
        if name == "data_census_gov":
            changes = {**BYTES, **of_member("DECENNIALXX2021.P99-Data.csv", changes)}
        if name == "wide":
            changes = {**BYTES, **of_member("xl/worksheets/sheet2.xml", {**BYTES, **XML})}
        found.append(
            Input(
                name,
                files,
                first,
                changes,
                _reader(name, layout, named),
                _oracle(name, files, named),
            )
        )
    return found


def _reader(name: str, layout: Any, named: list[str]) -> Callable[[Path], Any]:
    said = dict(layout.mapping)
    if "where" in said:
        said["where"] = {header: (value,) for header, value in said["where"].items()}
    if "dimensions" in said:
        said["dimensions"] = {k: DimensionMapping(**v) for k, v in said["dimensions"].items()}

    def read(folder: Path) -> naive_readers.Table:
        release = parse_release(SCHEMA, source="sexage.yaml")
        paths = [folder / each for each in named]
        if name == "tidy":
            source: Any = open_tidy(release, paths)
        else:
            source = open_tables(release, layout.source, paths, mapping=FileMapping(**said))
        return _table(source)

    return read


def _table(source: Any) -> naive_readers.Table:
    batches = list(source.batches())
    found: naive_readers.Table = {
        geoid: {} for batch in batches for geoid in batch.geounits["geoid"]
    }
    for batch in batches:
        for geoid, _, cell, count in batch.counts.select("geoid", "table", "cell", "count").rows():
            found[geoid][cell] = count
    return found


def _oracle(name: str, files: Mapping[str, bytes], named: list[str]) -> Callable[[bytes, Any], Any]:
    """The same files with the standard library alone."""
    own = naive_readers.READERS[name]
    member = "DECENNIALXX2021.P99-Data.csv"

    def naive(data: bytes) -> naive_readers.Table:
        if name == "data_census_gov":
            data = naive_readers.member_of(data, member)
        return own(data)

    def agrees(data: bytes, found: Any) -> bool | None:
        try:
            parts = [naive(data), *(naive(files[each]) for each in named[1:])]
        except naive_readers.Unclear:
            return None
        together: naive_readers.Table = {}
        for part in parts:
            for geoid, cells in part.items():
                together.setdefault(geoid, {}).update(cells)
        # a header that is not told apart may be read as what it was before, as nothing else
        before = _pristine(name)
        return (
            found.keys() == together.keys()
            and all(
                together[geoid].get(cell, before.get(geoid, {}).get(cell)) == count
                for geoid, cells in found.items()
                for cell, count in cells.items()
            )
            and all(cell in found[geoid] for geoid, cells in together.items() for cell in cells)
        )

    return agrees


def _parquet() -> list[Input]:
    """A tidy Parquet file, changed as a frame would be."""
    rows = [
        (geoid, "P99", cell, count)
        for geoid, row in _COUNTS.items()
        for cell, count in enumerate(row, start=1)
    ]
    frame = pl.DataFrame(rows, schema=["geoid", "table", "cell", "count"], orient="row")

    def read(folder: Path) -> Any:
        return _table(open_tidy(parse_release(SCHEMA, source="s"), [folder / "counts.parquet"]))

    def agrees(data: bytes, found: Any) -> bool | None:
        try:
            given = pl.read_parquet(io.BytesIO(data))
        except Exception:  # noqa: BLE001 - damaged: it had to be refused
            return False
        if sorted(given.columns) != sorted(frame.columns):
            return None
        try:
            return bool(
                found
                == naive_readers.table_of(
                    (naive_readers.geoid_of(str(g)), int(c), naive_readers.count_of(str(n)))
                    for g, c, n in given.select("geoid", "cell", "count").iter_rows()
                )
            )
        except (naive_readers.Unclear, TypeError, ValueError):
            return None

    data = _parquet_bytes(frame)
    changes = {**BYTES, **_FRAMES}
    return [
        Input("tidy Parquet", {"counts.parquet": data}, "counts.parquet", changes, read, agrees)
    ]


def _parquet_bytes(frame: pl.DataFrame) -> bytes:
    written = io.BytesIO()
    frame.write_parquet(written)
    return written.getvalue()


FrameChange = Callable[[pl.DataFrame, random.Random], pl.DataFrame]


def _cast(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    kinds = (pl.String, pl.Float64, pl.Int8, pl.UInt64, pl.Boolean, pl.Categorical)
    return frame.with_columns(
        pl.col(draw.choice(frame.columns)).cast(draw.choice(kinds), strict=False)
    )


def _null(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    at, name = draw.randrange(max(1, frame.height)), draw.choice(frame.columns)
    return frame.with_columns(pl.when(pl.int_range(pl.len()) != at).then(pl.col(name)).alias(name))


def _listed(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame.with_columns(pl.concat_list(draw.choice(frame.columns)).alias(frame.columns[0]))


def _shuffled(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame.sample(fraction=1.0, shuffle=True, seed=draw.randrange(10**6))


def _row_twice(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return pl.concat([frame, frame.slice(draw.randrange(max(1, frame.height)), 1)])


def _row_lost(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame.filter(pl.int_range(pl.len()) != draw.randrange(max(1, frame.height)))


def _renamed(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    name = draw.choice(frame.columns)
    return frame.rename({name: draw.choice((name.upper(), f"{name} ", "x"))})


def _column_lost(frame: pl.DataFrame, draw: random.Random) -> pl.DataFrame:
    return frame.drop(draw.choice(frame.columns))


def _of_frame(change: FrameChange) -> Change:
    def changed(data: bytes, draw: random.Random) -> bytes:
        return _parquet_bytes(change(pl.read_parquet(io.BytesIO(data)), draw))

    return changed


_FRAMES: Final[dict[str, Change]] = {
    "a column of another type": _of_frame(_cast),
    "a value missing": _of_frame(_null),
    "a column of lists": _of_frame(_listed),
    "rows shuffled": _of_frame(_shuffled),
    "a row twice": _of_frame(_row_twice),
    "a row lost": _of_frame(_row_lost),
    "a column renamed": _of_frame(_renamed),
    "a column lost": _of_frame(_column_lost),
    "no rows": _of_frame(lambda frame, _: frame.head(0)),
}


# --- configs, schemas, laws -----------------------------------------------------------------------

_CONFIG: Final = """\
release: town.yaml
work: work/town
seed: 7
workers: 2
ingest:
  source: sheet
  paths: [tidy.csv]
  mapping:
    where: {Year: '2021'}
    columns: {Percent: null}
    dimensions: {Alter: {feature: age, values: {jung: 0-14}}}
    unpublished: ['..']
reconstruct: {tables: area, seed: 3}
solvar: {mode: exact}
claims:
link:
  cef: truth.parquet
  attackers:
    BROKER:
      path: leak.csv
      columns: {Block: geoid_area, Years: age}
      values: {age: {Y: 0-14, O: "15+"}}
      id: Person
      may_leave_out: 0.9
report:
"""
_LAW: Final = """\
statements:
  - {tables: [P99], levels: [block], markers: ['*'], law: {suppressed: {below: 3}}}
  - {tables: [P99], levels: [tract], law: {rounded: {base: 5, how: nearest}}}
  - {law: exact}
"""


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _Plain(_LOADER):  # type: ignore[misc, valid-type]
    """Plain words as the core schema of YAML 1.2 reads them."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?[0-9]+", list("-+0123456789")),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", list("-+0123456789.")),
):
    _Plain.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first
    )
_Plain.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile("^<<$"), ["<"])


def _plain_tree(data: bytes) -> Any:
    """The text by YAML 1.2, or None."""
    try:
        return yaml.load(data.decode(), Loader=_Plain)  # noqa: S506 - a safe one
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError):
        return None


def _rewritten(data: bytes) -> bytes:
    """The text as JSON, in which nothing is ambiguous."""
    return json.dumps(_plain_tree(data)).encode()


def _yaml() -> list[Input]:
    def read_config(folder: Path) -> Any:
        config = load_config(folder / "recon.yaml")
        dumped = {name: each.model_dump(mode="json") for name, each in config.sections.items()}
        top = config.top.model_dump(mode="json")
        own = {key: value for key, value in top.items() if key not in dumped}
        return json.loads(json.dumps({**own, **dumped}).replace(str(folder), ""))

    def config_agrees(data: bytes, found: Any) -> bool | None:
        tree = _plain_tree(data)
        return isinstance(tree, dict) and _has(found, tree)

    def read_schema(folder: Path) -> Any:
        return replace(load_release(str(folder / "town.yaml")), digest="")

    def schema_agrees(data: bytes, found: Any) -> bool:
        release = parse_release(_rewritten(data).decode(), source="rewritten")
        return bool(replace(release, digest="") == found)

    def read_law(folder: Path) -> Any:
        release = parse_release(SCHEMA, source="sexage.yaml")
        return load_protection(folder / "protection.yaml", release)

    def law_agrees(data: bytes, found: Any) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "protection.yaml").write_bytes(_rewritten(data))
            return bool(read_law(Path(folder)) == found)

    config, schema, law = _CONFIG.encode(), SCHEMA.encode(), _LAW.encode()
    return [
        Input("config", {"recon.yaml": config}, "recon.yaml", YAML, read_config, config_agrees),
        Input("schema", {"town.yaml": schema}, "town.yaml", YAML, read_schema, schema_agrees),
        Input("law", {"protection.yaml": law}, "protection.yaml", YAML, read_law, law_agrees),
    ]


def _has(found: Any, said: Any) -> bool:
    """Whether everything that a text says is in what was read of it."""
    match said:
        case dict():
            return isinstance(found, dict) and all(
                any(str(key) == str(own) and _has(found[own], value) for own in found)
                for key, value in said.items()
            )
        case list():
            return (
                isinstance(found, list) and len(found) == len(said) and all(map(_has, found, said))
            )
        case None:
            return True  # a key without a value has its default
        case bool():
            return said is found
    if isinstance(found, list) and len(found) == 1:
        return _has(found[0], said)
    is_path = isinstance(said, str) and str(found).endswith("/" + said.removeprefix("./"))
    return str(found) == said or is_path or _alike(found, said)


def _alike(found: Any, said: Any) -> bool:
    try:
        return Decimal(str(found)) == Decimal(str(said))
    except InvalidOperation:
        return False


# --- lists of people and places -------------------------------------------------------------------


def _lists() -> list[Input]:
    release = parse_release(SCHEMA, source="sexage.yaml")
    people = "Block;Sex;Years;Person\n" + "".join(
        f"{block};{sex};{age};{i}\n"
        for i, (block, sex, age) in enumerate(
            [(b, s, a) for b in _BLOCKS for s in ("m", "f") for a in ("Y", "15-64", "O")], start=1
        )
    )
    translation = Translation(
        {"Block": "geoid_block", "Sex": "sex", "Years": "age", "Person": "id"},
        {"sex": {"m": "male", "f": "female"}, "age": {"Y": "0-14", "O": "65+"}},
    )

    def read_people(folder: Path) -> Any:
        file = open_records("BROKER", folder / "people.csv", release, translation)
        columns = ["geoid_block", "sex", "age", "id"]
        parts = [file.read(each, columns) for each in file.slices()]
        return sorted((row for part in parts for row in part.select(columns).rows()), key=repr)

    def people_agree(data: bytes, found: Any) -> bool | None:
        try:
            rows = naive_readers.rows_of(data.replace(b"\0", b"\1"), ";")
            header, body = naive_readers.checked(rows)
        except naive_readers.Unclear:
            return None
        if sorted(header) != ["Block", "Person", "Sex", "Years"]:
            return None
        at = {name: list(header).index(name) for name in header}
        sex, age = translation.values["sex"], translation.values["age"]
        places = [at[name] for name in ("Block", "Sex", "Years", "Person")]
        said = [
            (block, sex.get(s, s), age.get(years, years), person)
            for row in body
            for block, s, years, person in [[row[place].replace("\1", "\0") for place in places]]
        ]
        plain = [tuple((str(v) if v is not None else "").strip() for v in row) for row in found]
        return sorted((row for row in plain if any(row)), key=repr) == sorted(said, key=repr)

    listed = "geoid\n" + "".join(f"{geoid}\n" for geoid in _COUNTS)

    def read_list(folder: Path) -> Any:
        return read_geounit_list(release, folder / "geounits.csv").rows()

    def list_agrees(data: bytes, found: Any) -> bool | None:
        try:
            header, body = naive_readers.checked(naive_readers.rows_of(data, ","))
            at = naive_readers.place_of(header, "geoid")
            said = sorted(
                row[at] if re.fullmatch("[0-9]{5}", row[at]) else naive_readers.geoid_of(row[at])
                for row in body
            )
        except naive_readers.Unclear:
            return None
        return [geoid for geoid, _ in found] == said

    return [
        Input(
            "attackers' file",
            {"people.csv": people.encode()},
            "people.csv",
            {**DELIMITED, **fields(";")},
            read_people,
            people_agree,
        ),
        Input(
            "list of geounits",
            {"geounits.csv": listed.encode()},
            "geounits.csv",
            {**DELIMITED, **fields(",")},
            read_list,
            list_agrees,
        ),
    ]


# --- stage files ----------------------------------------------------------------------------------


@cache
def _work() -> dict[str, bytes]:
    """A run of two stages: every file of it."""
    folder = Path(tempfile.mkdtemp(prefix="recon-mutated-"))
    try:
        (folder / "sexage.yaml").write_text(SCHEMA)
        LAYOUTS["tidy"](_COUNTS, folder)
        (folder / "recon.yaml").write_text(
            "release: sexage.yaml\nwork: work\ningest: {source: tidy, paths: [tidy.csv]}\n"
            "reconstruct: {tables: block}\n"
        )
        recon("run", "-c", folder / "recon.yaml", "--workers", 1)
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and ".recon" not in path.parts
        }
    finally:
        shutil.rmtree(folder)


def _stage_files() -> list[Input]:
    release = parse_release(SCHEMA, source="sexage.yaml")
    work = _work()

    def read(folder: Path) -> Any:
        published = read_published(folder / "work", release, "34021")
        pieces = read_pieces(open_published(folder / "work", release)[1])
        found = [
            read_partition(folder / "work" / name, each).rows()
            for name in ("tables", "geounits", "microdata", "blocks")
            for each in partitions(folder / "work" / name)
        ]
        status = recon_status(folder)
        return published.coverage, pieces, found, status

    def unclear(data: bytes, found: Any) -> None:
        return None

    victims = [
        path for path in work if path.startswith("work/") and path.endswith((".parquet", ".json"))
    ]
    return [
        Input(
            f"stage file {path.removeprefix('work/')}",
            work,
            path,
            {**BYTES, **JSON, **LINES} if path.endswith(".json") else {**BYTES, **_FRAMES},
            read,
            unclear,
        )
        for path in victims
        if path.split("/")[1] in ("tables", "geounits", "microdata", "blocks")
    ]


def recon_status(folder: Path) -> str:
    """What `recon status` says, without times; a traceback is raised as itself."""
    result = CliRunner(env={"COLUMNS": "100"}).invoke(
        main, ["status", "-c", str(folder / "recon.yaml")]
    )
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return str(result.exit_code)
