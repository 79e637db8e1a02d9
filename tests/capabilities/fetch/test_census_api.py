"""The Census Bureau's API, as a website on this machine answers for it."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import requests

from recon_cli.capabilities.fetch import census_api
from recon_cli.capabilities.fetch.census_api import ApiOrder, _request, ask, queries
from recon_cli.capabilities.fetch.transfer import TransferError
from recon_cli.errors import ConfigError, FetchError
from recon_cli.schema import load_release
from tests.support.command_line import recon
from tests.support.website import Reply, website

PL = load_release("pl_2020")
PLACE = ["state", "county", "tract", "block"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("CENSUS_API_KEY", "sesame")


def answer(variables: tuple[str, ...]) -> Reply:
    """One block where 7 people live, whatever is asked."""
    place = ["1000000US340210001001000", "34", "021", "000100", "1000"]
    rows = [["GEO_ID", *variables, *PLACE], [place[0], *["7"] * len(variables), *place[1:]]]
    return Reply(json.dumps(rows).encode())


def test_a_table_of_a_county_is_asked_for_in_pieces() -> None:
    asked = queries(PL, ["P1", "P5"], ["block"], ["34021"])
    assert [(len(q.variables), q.file) for q in asked] == [
        (49, "pl_2020_34021_P1_block_1.json"),
        (22, "pl_2020_34021_P1_block_2.json"),
        (10, "pl_2020_34021_P5_block_1.json"),
    ]
    replies = [answer(q.variables) for q in asked]
    with website(*replies) as site:
        said = recon(
            "fetch", "34021", "--tables", "P1,P5", "--levels", "block", "--release", "pl_2020",
            "--mirror", site.url,
        ).stdout  # fmt: skip
    parameters = [parse_qs(urlsplit(path).query) for path, _ in site.requests]
    assert urlsplit(site.requests[0][0]).path == "/2020/dec/pl"
    assert parameters[1]["get"] == ["GEO_ID," + ",".join(asked[1].variables)]
    assert parameters[0]["for"] == ["block:*"]
    assert parameters[0]["in"] == ["state:34 county:021"]
    assert {tuple(each["key"]) for each in parameters} == {("sesame",)}
    assert "sesame" not in said
    assert not [path for path in Path("data").iterdir() if b"sesame" in path.read_bytes()]
    command = next(line for line in said.splitlines() if line.startswith("next: "))
    recon(*command.removeprefix("next: recon ").split())
    assert "81" in recon("ingest").stdout


def test_what_is_there_is_not_asked_for_again() -> None:
    (query,) = queries(PL, ["P5"], ["block"], ["34021"])
    with website(answer(query.variables)) as site:
        order = ApiOrder(Path("data"), site.url, waits=())
        first, again = ask(order, query), ask(order, query)
        assert first == again
        assert len(site.requests) == 1


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(b"<html>Invalid Key</html>"), "expected a table, the server sent '<html>Invalid"),
        (Reply(b'[["GEO_ID", "P5_001N"]]'), "sent a table without P5_002N"),
        (Reply(b"error: unknown variable 'P5_099N'", 400), "answered 400: error: unknown variable"),
        (Reply(b"", 500), "answered 500"),
    ],
)
def test_bad_answers(reply: Reply, message: str) -> None:
    (query,) = queries(PL, ["P5"], ["block"], ["34021"])
    with website(reply) as site, pytest.raises(FetchError) as caught:
        ask(ApiOrder(Path("data"), site.url, waits=(0.0,)), query)
    assert message in str(caught.value)
    assert "sesame" not in str(caught.value)
    assert not Path("data").exists()
    assert len(site.requests) == (2 if reply.status == 500 else 1)


def test_an_answer_without_an_end_does_not_fill_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(census_api, "_MOST_BYTES", 1000)
    (query,) = queries(PL, ["P5"], ["block"], ["34021"])
    with (
        website(Reply(b"[" * 100, is_endless=True)) as site,
        pytest.raises(FetchError, match="the answer is larger than 1,000 bytes, the limit"),
    ):
        ask(ApiOrder(Path("data"), site.url, waits=(0.0,)), query)
    assert len(site.requests) == 1


def test_no_answer_is_a_failure_and_no_body(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise requests.ConnectionError("https://api?key=sesame")

    monkeypatch.setattr(requests, "get", refused)
    (query,) = queries(PL, ["P5"], ["block"], ["34021"])
    order = ApiOrder(Path("data"), "http://127.0.0.1:9")
    with pytest.raises(TransferError, match=r"no answer from .*: ConnectionError$") as caught:
        _request(order, query, "http://127.0.0.1:9")
    assert "sesame" not in "".join(traceback.format_exception(caught.value))


def test_nobody_answers() -> None:
    (query,) = queries(PL, ["P5"], ["block"], ["34021"])
    order = ApiOrder(Path("data"), "http://127.0.0.1:9", key=None, waits=())
    with pytest.raises(FetchError, match=r"no answer from .*; set CENSUS_API_KEY") as caught:
        ask(order, query)
    assert "sesame" not in str(caught.value)


@pytest.mark.parametrize(
    ("release", "tables", "levels", "county", "message"),
    [
        ("clinic_visits", "PATIENTS", "", "34021", "not served by the API"),
        ("pl_2020", "P99", "", "34021", "no table 'P99'"),
        ("pl_2020", "P1", "town", "34021", "level 'town'"),
        ("pl_2020", "P1", "", "nj", "expected a county's five digits"),
    ],
)
def test_bad_queries(release: str, tables: str, levels: str, county: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        queries(load_release(release), [tables], [levels] if levels else [], [county])
