"""Downloads, from a website on this machine that is cut off, changed, wrong or broken."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import socket
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from rich.console import Console

from recon_cli.capabilities.fetch import transfer
from recon_cli.capabilities.fetch.catalogue import catalogued_releases, load_catalogue
from recon_cli.capabilities.fetch.delivery import Order, deliver
from recon_cli.errors import FetchError, SourceError
from recon_cli.progress import ConsoleReporter
from recon_cli.schema import load_release
from recon_cli.schema.states import STATES
from recon_cli.sources.legacy import legacy_layout
from tests.support.command_line import recon
from tests.support.paths import ROOT
from tests.support.website import Reply, Website, website

TOY = ROOT / "fixtures" / "toy2010.sf1.zip"
ZIP = TOY.read_bytes()
RELEASE = load_release("sf1_2010")
CATALOGUE = load_catalogue("sf1_2010")
ALABAMA = CATALOGUE.find("al")
FILE = "al2010.sf1.zip"
DATED = {"Last-Modified": "Thu, 01 Sep 2011 04:00:00 GMT"}


def repacked() -> bytes:
    """The toy's members in another zip: other bytes, as good."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(TOY) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    return buffer.getvalue()


NEWER = repacked()


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(transfer, "_CHUNK", 500)  # so that little is lost of a small file


def order(site: Website, **changes: object) -> Order:
    plain = Order(RELEASE, CATALOGUE, Path("data"), site.url, waits=(0.0, 0.0))
    return replace(plain, **changes)  # type: ignore[arg-type]


def files() -> set[str]:
    """Every file below the folder."""
    return {str(path.relative_to("data")) for path in Path("data").rglob("*") if path.is_file()}


def data(name: str = FILE) -> bytes:
    return (Path("data") / name).read_bytes()


def test_a_file_is_fetched_checked_and_recorded() -> None:
    with website(Reply(ZIP)) as site:
        done = recon("fetch", "Alabama", "--mirror", f"{site.url}/sf1/")
    assert site.requests[0][0] == f"/sf1/Alabama/{FILE}"
    assert data() == ZIP
    assert files() == {FILE, "sha256sums.txt"}
    assert not Path("data/.fetch").exists()
    digest = hashlib.sha256(ZIP).hexdigest()
    assert data("sha256sums.txt").decode() == f"{digest}  {FILE}\n"
    assert digest in done.stdout
    assert "next: recon init data/al2010.sf1.zip" in done.stdout
    assert (Path("data") / FILE).stat().st_mode & 0o777 == 0o600, "for its owner alone"


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="no sha256sum here")
def test_sha256sum_understands_the_record() -> None:
    with website(Reply(ZIP)) as site:
        deliver(order(site), ALABAMA)
    check = ["sha256sum", "--check", "--strict", "sha256sums.txt"]
    done = subprocess.run(check, cwd="data", capture_output=True, text=True, check=True)
    assert done.stdout == f"{FILE}: OK\n"


def test_what_is_there_and_unchanged_is_not_fetched_again() -> None:
    with website(Reply(ZIP)) as site:
        assert deliver(order(site), ALABAMA).how == "fetched"
        assert deliver(order(site), ALABAMA).how == "unchanged"
        assert len(site.requests) == 1
        assert deliver(order(site, force=True), ALABAMA).how == "fetched"
        assert len(site.requests) == 2


@pytest.mark.parametrize("version", [{"ETag": '"1"'}, DATED, {"ETag": 'W/"1"', **DATED}])
def test_a_download_that_is_cut_off_goes_on(version: dict[str, str]) -> None:
    with website(Reply(ZIP, headers=version, cut=7000), Reply(ZIP, headers=version)) as site:
        deliver(order(site), ALABAMA)
    assert site.header(1, "Range") == "bytes=7000-"
    assert site.header(1, "If-Range") == list(version.values())[-1]
    assert data() == ZIP


def test_it_goes_on_in_the_next_run_too() -> None:
    with website(Reply(ZIP, cut=2000)) as site:
        with pytest.raises(FetchError, match="the same command continues from there") as caught:
            deliver(order(site), ALABAMA)
        assert "Alabama (al2010.sf1.zip): the connection broke off" in str(caught.value)
        # 0, then from 2,000, then from 4,000
        assert [site.header(i, "Range") for i in range(3)] == [None, "bytes=2000-", "bytes=4000-"]
        assert files() == {f".fetch/{FILE}.part", f".fetch/{FILE}.part.json", ".fetch/lock"}
        site.replies = [Reply(ZIP)]
        deliver(order(site), ALABAMA)
    assert site.header(3, "Range") == "bytes=6000-"
    assert data() == ZIP
    assert files() == {FILE, "sha256sums.txt"}


def test_a_server_that_knows_no_ranges_starts_over() -> None:
    with website(Reply(ZIP, cut=7000), Reply(ZIP, ranges=False)) as site:
        deliver(order(site), ALABAMA)
    assert site.header(1, "Range") == "bytes=7000-"
    assert data() == ZIP


def test_a_server_that_names_no_version_is_asked_from_the_beginning() -> None:
    with website(Reply(ZIP, headers={}, cut=7000)) as site, pytest.raises(FetchError) as caught:
        deliver(order(site), ALABAMA)
    assert "continues from there" not in str(caught.value)
    with website(Reply(ZIP, headers={}, cut=7000), Reply(ZIP, headers={})) as site:
        deliver(order(site), ALABAMA)
    assert site.header(1, "Range") is None
    assert data() == ZIP


@pytest.mark.parametrize("conditions", [True, False])
def test_two_versions_are_never_glued_together(conditions: bool) -> None:
    newer = Reply(NEWER, headers={"ETag": '"2"'}, conditions=conditions)
    with website(Reply(ZIP, cut=7000), newer) as site:
        deliver(order(site), ALABAMA)
    assert data() == NEWER
    assert len(site.requests) == (2 if conditions else 3)


def test_nor_are_the_files_of_two_servers() -> None:
    with website(Reply(ZIP, cut=7000)) as one, pytest.raises(FetchError):
        deliver(order(one, waits=()), ALABAMA)
    with website(Reply(NEWER)) as other:
        deliver(order(other), ALABAMA)
    assert other.header(0, "Range") is None
    assert data() == NEWER


def test_a_part_that_is_longer_than_the_file_is_thrown_away() -> None:
    with website(Reply(ZIP + b"more", cut=len(ZIP) + 2), Reply(ZIP)) as site:
        deliver(order(site), ALABAMA)
    assert [site.header(i, "Range") is None for i in range(3)] == [True, False, True]
    assert data() == ZIP


def test_a_half_written_stamp_is_not_believed() -> None:
    with website(Reply(ZIP, cut=7000)) as site:
        with pytest.raises(FetchError):
            deliver(order(site, waits=()), ALABAMA)
        Path(f"data/.fetch/{FILE}.part.json").write_text('{"url": "http')
        site.replies = [Reply(ZIP)]
        deliver(order(site), ALABAMA)
    assert site.header(1, "Range") is None
    assert data() == ZIP


def test_attempts_are_counted_anew_when_something_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_PROGRESS", 3000)
    with website(Reply(ZIP, cut=3000)) as site:
        deliver(order(site, waits=(0.0,)), ALABAMA)
    assert len(site.requests) == -(-len(ZIP) // 3000) == 7
    assert data() == ZIP


@pytest.mark.parametrize("is_endless", [True, False])
def test_an_answer_without_an_end_does_not_fill_the_disk(
    is_endless: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "MOST_BYTES", len(ZIP) - 1)
    with (
        website(Reply(ZIP, is_endless=is_endless)) as site,
        pytest.raises(FetchError, match=f"larger than {len(ZIP) - 1:,} bytes, the limit of a file"),
    ):
        deliver(order(site), ALABAMA)
    assert len(site.requests) == 1
    assert not any(Path("data").rglob("*.part*"))


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_a_passing_trouble_is_waited_for(status: int) -> None:
    with website(Reply(status=status), Reply(ZIP)) as site:
        deliver(order(site), ALABAMA)
        assert data() == ZIP
        site.replies = [Reply(status=status)]
        with pytest.raises(FetchError, match=f"answered {status}"):
            deliver(order(site, force=True), ALABAMA)
        assert len(site.requests) == 2 + 3
    assert data() == ZIP, "what was there before stays"


def test_a_file_that_the_server_does_not_have() -> None:
    with website(Reply(status=404)) as site:
        refused = recon("fetch", "al", "--mirror", site.url, code=10)
    assert len(site.requests) == 1
    assert "Alabama (al2010.sf1.zip): the server has no such file (404 Not Found)" in refused.stderr
    assert f"{site.url}/Alabama/{FILE}" in refused.stderr
    assert "--mirror URL asks another server" in refused.stderr
    assert files() == set()


def test_a_server_that_refuses() -> None:
    with website(Reply(status=403)) as site, pytest.raises(FetchError, match="403 Forbidden"):
        deliver(order(site), ALABAMA)
    assert len(site.requests) == 1


def _damaged() -> bytes:
    """One bit of a member's compressed bytes is wrong; the zip's directory is whole."""
    with zipfile.ZipFile(TOY) as archive:
        at = archive.getinfo("al000032010.sf1").header_offset + 100
    return ZIP[:at] + bytes([ZIP[at] ^ 1]) + ZIP[at + 1 :]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<!DOCTYPE html><title>Sorry</title>", "found a web page (<!DOCTYPE html>"),
        (b"", "found an empty file"),
        (b"GIF89a...", "found other bytes (b'GIF89a..'"),
        (ZIP[:9000], "expected a zip file"),
        (_damaged(), "damaged or truncated"),
        (ZIP.replace(b"al000042010", b"al000992010"), "expected one member al00004….sf1"),
        (ZIP.replace(b"algeo", b"akgeo").replace(b"al000", b"ak000"), "the files of Alabama"),
    ],
)
def test_what_is_not_the_file_gets_no_name(body: bytes, message: str) -> None:
    with website(Reply(body)) as site, pytest.raises(SourceError) as caught:
        deliver(order(site), ALABAMA)
    assert message in str(caught.value)
    assert f"from {site.url}/Alabama/{FILE}" in str(caught.value)
    assert files() == set()
    assert not Path("data/.fetch").exists()


def test_a_file_that_was_changed_here() -> None:
    with website(Reply(ZIP)) as site:
        deliver(order(site), ALABAMA)
        (Path("data") / FILE).write_bytes(NEWER)
        refused = recon("fetch", "al", "--mirror", site.url, code=10)
        assert "not the file that was recorded in data/sha256sums.txt" in refused.stderr
        assert hashlib.sha256(ZIP).hexdigest() in refused.stderr
        assert hashlib.sha256(NEWER).hexdigest() in refused.stderr
        assert data() == NEWER, "nothing is taken away"
        recon("fetch", "al", "--mirror", site.url, "--force")
    assert data() == ZIP


def test_a_file_that_was_changed_there() -> None:
    with website(Reply(ZIP), Reply(NEWER)) as site:
        deliver(order(site), ALABAMA)
        (Path("data") / FILE).unlink()
        with pytest.raises(FetchError, match="is not the file that was recorded") as caught:
            deliver(order(site), ALABAMA)
        assert "--force takes the new one" in str(caught.value)
        assert files() == {"sha256sums.txt"}
        deliver(order(site, force=True), ALABAMA)
    assert data() == NEWER
    assert data("sha256sums.txt").decode().split() == [hashlib.sha256(NEWER).hexdigest(), FILE]


def test_a_file_that_was_put_there_by_hand() -> None:
    with website(Reply(ZIP, cut=7000)) as site:
        with pytest.raises(FetchError):
            deliver(order(site, waits=()), ALABAMA)
        (Path("data") / FILE).write_bytes(NEWER)
        assert "was there; checked and recorded" in recon("fetch", "al").stdout
        assert deliver(order(site), ALABAMA).how == "unchanged"
    assert files() == {FILE, "sha256sums.txt"}
    assert len(site.requests) == 1


def test_what_was_put_there_by_hand_is_checked() -> None:
    Path("data").mkdir()
    (Path("data") / FILE).write_bytes(ZIP[:-100])
    refused = recon("fetch", "al", code=4)
    assert "data/al2010.sf1.zip: expected a zip file" in refused.stderr
    assert "remove it, and the same command fetches it" in refused.stderr
    assert files() == {FILE}


def test_a_download_that_was_killed_before_it_got_its_name() -> None:
    staging = Path("data/.fetch")
    staging.mkdir(parents=True)
    (staging / FILE).write_bytes(ZIP)
    (staging / "tmpabcd").touch()
    with website(Reply(status=500)) as site:
        assert deliver(order(site), ALABAMA).how == "fetched"
        assert site.requests == []
        assert files() == {FILE, "sha256sums.txt"}
        staging.mkdir()
        (staging / FILE).write_bytes(ZIP)
        site.replies = [Reply(NEWER)]
        deliver(order(site, force=True), ALABAMA)
    assert data() == NEWER, "what is forced is fetched"


def test_other_lines_of_the_record_stay() -> None:
    Path("data").mkdir()
    kept = f"# mine\n{'0' * 64} *other.zip\n"
    Path("data/sha256sums.txt").write_text(kept)
    with website(Reply(ZIP)) as site:
        deliver(order(site), ALABAMA)
        deliver(order(site, force=True), ALABAMA)
    text = data("sha256sums.txt").decode()
    assert text == f"{kept}{hashlib.sha256(ZIP).hexdigest()}  {FILE}\n"
    Path("data/sha256sums.txt").write_text("not a checksum\n")
    assert "data/sha256sums.txt:1: expected 64 hexadecimal" in recon("fetch", "al", code=10).stderr


def test_mirror_and_folder_from_the_config() -> None:
    folder = Path("run")
    folder.mkdir()
    with website(Reply(ZIP)) as site, website(Reply(ZIP)) as other:
        text = f"release: sf1_2010\nfetch: {{mirror: '{site.url}', to: files}}\n"
        (folder / "al.yaml").write_text(text)
        recon("fetch", "al", "-c", folder / "al.yaml")
        assert (folder / "files" / FILE).read_bytes() == ZIP, "relative to the config"
        recon("fetch", "al", "-c", folder / "al.yaml", "--mirror", other.url, "--to", "here")
    assert (len(site.requests), len(other.requests)) == (1, 1)
    assert Path("here", FILE).read_bytes() == ZIP


def test_several_states_each_once_and_all() -> None:
    bodies = [ZIP, ZIP.replace(b"algeo", b"nygeo").replace(b"al000", b"ny000")]
    with website(*map(Reply, bodies)) as site:
        done = recon("fetch", "AL", "new_york", "01", "--mirror", site.url, "--to", "two words")
    assert [path for path, _ in site.requests] == [f"/Alabama/{FILE}", "/New_York/ny2010.sf1.zip"]
    assert "next: recon init 'two words/al2010.sf1.zip' 'two words/ny2010.sf1.zip'" in done.stdout
    with website(Reply(status=404)) as site:
        assert "Alabama" in recon("fetch", "--all", "--mirror", site.url, code=10).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "say which STATE"),
        (("al", "--all"), "say which STATE"),
        (("alabma",), "nothing is called 'alabma'; did you mean Alabama? It has 52 files"),
        (("99",), "nothing is called '99'. It has 52 files"),
        (("al", "--mirror", "file:///data"), "an address that starts with https:// is expected"),
        (("al", "--release", "clinic_visits"), "has no addresses to download from"),
        (("al", "--set", "fetch.from=x"), "fetch.from: unknown key (valid keys: to, mirror)"),
    ],
)
def test_what_cannot_be_fetched(arguments: tuple[str, ...], message: str) -> None:
    assert message in recon("fetch", *arguments, code=2).stderr
    assert not Path("data").exists()


def test_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    refused = recon("fetch", "al", code=10)
    assert "the server of https://www2.census.gov/" in refused.stderr
    assert "is not found; check that this machine is online" in refused.stderr
    assert "put it at\n  data/al2010.sf1.zip" in refused.stderr
    assert "trying again" not in refused.stderr


def test_a_server_that_is_not_there() -> None:
    with website(Reply(ZIP)) as site:
        gone = order(site)
    with pytest.raises(FetchError, match=r"no connection: .*refused"):
        deliver(gone, ALABAMA)


def test_a_folder_that_cannot_be_written() -> None:
    Path("data").write_text("a file")
    with website(Reply(ZIP)) as site:
        refused = recon("fetch", "al", "--mirror", site.url, code=10)
    assert "choose another folder with --to" in refused.stderr
    assert site.requests == []


def test_a_full_disk_keeps_what_has_arrived(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with website(Reply(ZIP)) as site:
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full)
            with pytest.raises(FetchError) as caught:
                deliver(order(site), ALABAMA)
        assert str(caught.value) == (
            "data: No space left on device; choose another folder with --to"
        )
        assert Path(f"data/.fetch/{FILE}.part").stat().st_size == len(ZIP)
        deliver(order(site), ALABAMA)
    assert data() == ZIP


def test_two_at_once_do_not_write_one_file() -> None:
    lock = Path("data/.fetch/lock")
    lock.parent.mkdir(parents=True)
    with (
        FileLock(lock),
        website(Reply(ZIP)) as site,
        pytest.raises(FetchError, match="another process is running `recon fetch`"),
    ):
        deliver(order(site), ALABAMA)
    assert site.requests == []


def test_progress_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "_EVERY", 0.0)
    text = io.StringIO()
    with website(Reply(ZIP, cut=7000), Reply(ZIP)) as site:
        deliver(
            order(site, reporter=ConsoleReporter(lambda: Console(file=text, width=60))), ALABAMA
        )
    said = text.getvalue()
    assert f"Alabama ({FILE}): from {site.url}/Alabama/{FILE}\n" in said
    assert "trying again in 0 s\n" in said
    assert f"{FILE}: 0.0 of 0.0 MB, " in said
    assert "\x1b" not in said


def test_progress_on_a_narrow_terminal() -> None:
    text = io.StringIO()
    console = Console(file=text, width=60, force_terminal=True, color_system=None)
    with transfer.meter(ConsoleReporter(lambda: console), FILE, 150_000_000, 30_000_000) as arrived:
        arrived(45_000_000)
    last = [line for line in text.getvalue().split("\r") if FILE in line][-1]
    assert "75.0/150.0 MB" in last
    assert len(last.split("\x1b")[0].rstrip()) <= 60


def test_the_catalogue_has_every_state_and_its_folder() -> None:
    assert {part.number: part.key.upper() for part in CATALOGUE.parts} == STATES
    site = "https://www2.census.gov/census_2010/04-Summary_File_1"
    assert {
        "dc": f"{site}/District_of_Columbia/dc2010.sf1.zip",
        "nc": f"{site}/North_Carolina/nc2010.sf1.zip",
        "pr": f"{site}/Puerto_Rico/pr2010.sf1.zip",
        "wy": f"{site}/Wyoming/wy2010.sf1.zip",
    }.items() <= {part.key: CATALOGUE.address(part) for part in CATALOGUE.parts}.items()
    assert "District of Columbia" in {part.name for part in CATALOGUE.parts}


def test_nothing_slow_is_imported_until_it_is_needed() -> None:
    loaded = "{'pooch', 'requests', 'rich'} & set(sys.modules)"
    code = f"import sys, recon_cli.capabilities.fetch.delivery; print({loaded})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("name", catalogued_releases())
def test_every_catalogue_is_of_a_release_that_reads_its_files(name: str) -> None:
    catalogue = load_catalogue(name)
    layout = legacy_layout(load_release(name))
    assert catalogue.source == layout.name
    assert len(catalogue.parts) == 52
    new_york = catalogue.find("new york")
    year = name[-4:]
    assert catalogue.address(new_york).endswith(f"/New_York/ny{year}.{layout.suffix}.zip")
