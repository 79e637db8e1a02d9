"""Tables from the Census Bureau's API: one answer for each county and each fifty variables.

The key is read from the environment, and is never written to a file or message.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from recon_cli.capabilities.fetch.transfer import TIMEOUTS, WAITS, TransferError
from recon_cli.errors import ConfigError, FetchError
from recon_cli.progress import Reporter, SilentReporter
from recon_cli.schema import Release, Table
from recon_cli.sources.formats.codes import CODED_NAME
from recon_cli.store.files import make_folder, write_bytes

SITE: Final = "https://api.census.gov/data"
KEY: Final = "CENSUS_API_KEY"
#: Release → folder of its data set below the site.
DATA_SETS: Final = {
    "sf1_2010": "2010/dec/sf1",
    "pl_2010": "2010/dec/pl",
    "pl_2020": "2020/dec/pl",
    "dhc_2020": "2020/dec/dhc",
}
#: Most variables of one query; the API takes 50, and one of these is GEO_ID.
_MOST_VARIABLES: Final = 49
_LEVELS: Final = {"block": "block", "block_group": "block group", "tract": "tract"}
#: Most bytes of an answer, which is held in memory; readers have the same limit.
_MOST_BYTES: Final = 1 << 28
#: Status codes of answers that may change on a later attempt.
_PASSING: Final = (408, 425, 429)


@dataclass(frozen=True)
class ApiQuery:
    """One request.

    Attributes:
        data_set: Folder below the site.
        level: The API's name of the level.
        county: Five digits.
    """

    data_set: str
    variables: tuple[str, ...]
    level: str
    county: str
    file: str

    @property
    def parameters(self) -> dict[str, str]:
        """Return the query, without the key."""
        return {
            "get": ",".join(("GEO_ID", *self.variables)),
            "for": f"{self.level}:*",
            "in": f"state:{self.county[:2]} county:{self.county[2:]}",
        }


@dataclass(frozen=True)
class ApiOrder:
    """Options of requests.

    Attributes:
        site: Address below which the data sets are.
        key: The user's key; None asks without one.
        waits: Seconds before each new attempt.
    """

    folder: Path
    site: str = SITE
    key: str | None = field(default_factory=lambda: os.environ.get(KEY), repr=False)
    force: bool = False
    reporter: Reporter = field(default_factory=SilentReporter)
    waits: tuple[float, ...] = WAITS


def queries(
    release: Release, tables: Sequence[str], levels: Sequence[str], counties: Sequence[str]
) -> list[ApiQuery]:
    """List every request that some tables of some counties need.

    Args:
        release: One of `DATA_SETS`.
        levels: Levels of the release; default block, block group and tract, as far as a table is
            published for them.
        counties: Five digits each.

    Raises:
        ConfigError: The API has no such release, or a table, level or county is unknown.
    """
    if release.name not in DATA_SETS:
        raise ConfigError(
            f"release {release.name!r} is not served by the API (releases that are: "
            f"{', '.join(DATA_SETS)}; choose with --release)"
        )
    for county in counties:
        if not (county.isdigit() and len(county) == 5):
            raise ConfigError(f"{county!r}: with --tables, expected a county's five digits: 34021")
    for level in levels:
        if level not in _LEVELS:
            raise ConfigError(f"level {level!r}: the API is asked for {', '.join(_LEVELS)}")
    chosen = release.select_tables(tuple(tables))
    return [
        query
        for county in counties
        for table in chosen
        for query in _of_table(release.name, table, levels, county)
    ]


def _of_table(release: str, table: Table, levels: Sequence[str], county: str) -> Iterator[ApiQuery]:
    codes = [api_code(table.name, cell.number, release) for cell in table.cells]
    for level, name in _LEVELS.items():
        if level not in table.levels or (levels and level not in levels):
            continue
        for part, start in enumerate(range(0, len(codes), _MOST_VARIABLES), start=1):
            yield ApiQuery(
                DATA_SETS[release],
                tuple(codes[start : start + _MOST_VARIABLES]),
                name,
                county,
                f"{release}_{county}_{table.name}_{level}_{part}.json",
            )


def ask(order: ApiOrder, query: ApiQuery) -> Path:
    """Write the answer to a query, unless the file exists.

    Raises:
        FetchError: The server refuses, answers something else, or cannot be reached.
    """
    target = order.folder / query.file
    if target.exists() and not order.force:
        return target
    url = f"{order.site.rstrip('/')}/{query.data_set}"
    order.reporter.note(f"{query.file}: from {url}")
    answer = _attempts(order, query, url)
    _check(answer, query)
    try:
        make_folder(order.folder)
        write_bytes(target, answer)
    except OSError as error:
        raise FetchError(f"{target}: cannot be written: {error.strerror}") from error
    return target


def _attempts(order: ApiOrder, query: ApiQuery, url: str) -> bytes:
    waits = iter(order.waits)
    while True:
        try:
            return _request(order, query, url)
        except TransferError as error:
            wait = next(waits, None)
            if wait is None:
                raise FetchError(f"{query.file}: {error}{_hint(order)}") from None
            order.reporter.note(f"{query.file}: {error}; trying again in {wait:g} s")
            time.sleep(wait)


def _request(order: ApiOrder, query: ApiQuery, url: str) -> bytes:
    """Return the body of an answer.

    Raises:
        FetchError: The server refuses.
        TransferError: There was no answer, or one that may change later. Without an answer, only
            the kind of failure is named: the failure's text has the address, and so the key.
    """
    import requests  # slow to import

    parameters = query.parameters | ({"key": order.key} if order.key else {})
    try:
        with requests.get(url, params=parameters, timeout=TIMEOUTS, stream=True) as reply:
            body = bytearray()
            for chunk in reply.iter_content(1 << 16):
                body += chunk
                if len(body) > _MOST_BYTES:
                    raise FetchError(
                        f"{query.file}: the answer is larger than {_MOST_BYTES:,} bytes, the limit"
                    )
    except requests.RequestException as error:
        raise TransferError(f"no answer from {url}: {type(error).__name__}") from None
    status = reply.status_code
    if status == 200:
        return bytes(body)
    reason = " ".join(body.decode("utf-8", "replace").split())[:200]
    said = f"the server of {url} answered {status}: {reason}"
    if status >= 500 or status in _PASSING:
        raise TransferError(said)
    raise FetchError(f"{query.file}: {said}{_hint(order)}")


def _hint(order: ApiOrder) -> str:
    return (
        "" if order.key else f"; set {KEY} to a key (https://api.census.gov/data/key_signup.html)"
    )


def _check(answer: bytes, query: ApiQuery) -> None:
    """Refuse an answer that is not a table of the requested variables."""
    try:
        rows = json.loads(answer)
        header = rows[0]
        missing = [code for code in query.variables if code not in header]
    except (ValueError, LookupError, TypeError) as error:
        start = " ".join(answer[:120].decode("utf-8", "replace").split())
        raise FetchError(
            f"{query.file}: expected a table, the server sent {start!r}; is the key in {KEY} valid?"
        ) from error
    if missing or len(rows) < 2:
        what = f"without {missing[0]}" if missing else "without rows"
        raise FetchError(f"{query.file}: the server sent a table {what}")


def api_code(table: str, number: int, release: str) -> str:
    """Return the code of a cell in the Bureau's API.

    Raises:
        ConfigError: The table is named in another way than the Bureau's.

    >>> api_code("P12", 3, "dhc_2020"), api_code("P12A", 3, "sf1_2010")
    ('P12_003N', 'P012A003')
    """
    match = CODED_NAME.fullmatch(table)
    if match is None:
        raise ConfigError(f"table {table!r} has no code in the Census Bureau's API")
    if release.endswith("2010"):
        return f"{match[1]}{int(match[2]):03}{match[3]}{number:03}"
    return f"{table}_{number:03}N"
