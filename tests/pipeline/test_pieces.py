"""Pieces of a partition, shares of the pieces, and pieces that kill their worker."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recon_cli.capabilities.reconstruct import RECONSTRUCT
from recon_cli.capabilities.verify.stage import verify
from recon_cli.config import load_config
from recon_cli.console.options import RunOptions
from recon_cli.errors import ConfigError, StageError, Unpublished, WorkerError
from recon_cli.execute import Results, WorkItem
from recon_cli.pipeline import question_worker
from recon_cli.pipeline.quarantine import QuarantineOnDeath
from recon_cli.pipeline.run import ALL_PIECES, NO_PIECES, Run, Shard
from recon_cli.schema import Level, load_release
from recon_cli.store import Piece, Span
from recon_cli.store.pieces import cut
from recon_cli.verification import verify as compare
from tests.support import deadly_questions, shards
from tests.support.paths import ROOT
from tests.support.stages import ingest, reconstruct, solvar

TOY = ROOT / "configs" / "toy.yaml"
RELEASE = load_release("sf1_2010")


def run(work: Path, *settings: str, **options: Any) -> Run:
    config = load_config(TOY, settings=settings, work=work, workers=options.pop("workers", 1))
    return Run(config, config.load_release(), **options)


def data(work: Path, folder: str) -> dict[str, pl.DataFrame]:
    """Partition → rows."""
    return {
        path.name: pl.read_parquet(path / "*.parquet")
        for path in sorted((work / folder).glob("county=*"))
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy, ingested, reconstructed and measured in one piece."""
    work = tmp_path_factory.mktemp("whole")
    for stage in (ingest, reconstruct, solvar):
        stage(run(work))
    return work


@pytest.fixture(scope="module")
def ingested(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy, ingested and cut by tracts."""
    work = tmp_path_factory.mktemp("cut")
    ingest(run(work, "ingest.piece_people=1"))
    return work


@pytest.fixture
def in_pieces(ingested: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(ingested, tmp_path / "work"))


regions = st.lists(st.integers(0, 50), min_size=1, max_size=8)


@settings(deadline=None)  # the first call loads polars
@given(regions, st.integers(1, 120))
def test_a_cut_is_a_partition_of_whole_regions(people: list[int], goal: int) -> None:
    geoids = [f"01001{i:06d}{block}001" for i in range(len(people)) for block in (1, 2)]
    units = pl.DataFrame(
        {"geoid": geoids, "population": [p for p in people for p in (p, 0)]},
        schema={"geoid": pl.String, "population": pl.Int64},
    )
    pieces = cut(RELEASE, "01001", units, goal)
    inside = [
        units.filter(piece.span.holds("geoid")).get_column("geoid").to_list() for piece in pieces
    ]
    assert [geoid for each in inside for geoid in each] == geoids
    assert len({geoid[:11] for each in inside for geoid in each}) == sum(
        len({geoid[:11] for geoid in each}) for each in inside
    )
    assert [piece.units for piece in pieces] == [len(each) for each in inside]
    assert sum(piece.people for piece in pieces) == sum(people)
    assert max(piece.people for piece in pieces) <= 2 * max(goal, *people)
    assert len(cut(RELEASE, "01001", units, goal, whole=Level("county", 5))) == 1, (
        "no county is cut"
    )
    assert [(piece.number, piece.of) for piece in pieces] == [
        (i, len(pieces)) for i in range(len(pieces))
    ]


def test_a_span_knows_which_files_it_meets() -> None:
    span = Span("b", "d")
    assert [span.meets(*ends) for ends in (("a", "b"), ("d", "e"), ("a", "az"), (None, None))] == [
        True,
        False,
        False,
        True,
    ]


def test_pieces_change_nothing(whole: Path, in_pieces: Path) -> None:
    for stage in (reconstruct, solvar):
        stage(run(in_pieces))
    assert len(list((in_pieces / "microdata").glob("*/*.parquet"))) == 3
    for folder in ("microdata", "blocks", "solvar", "intervals", "certainty", "regions"):
        for name, rows in data(whole, folder).items():
            assert rows.equals(data(in_pieces, folder)[name]), (folder, name)
    assert verify(run(in_pieces)).ok


@given(st.lists(st.integers(0, 9), max_size=30), st.integers(1, 5))
def test_shares_are_everything_once_and_of_a_size(people: list[int], of: int) -> None:
    pieces = [Piece(f"{i:05d}", people=n) for i, n in enumerate(people)]
    shares = [Shard(number, of).choose(pieces) for number in range(1, of + 1)]
    assert sorted(piece.name for share in shares for piece in share) == [p.name for p in pieces]
    sums = [sum(max(piece.people, 1) for piece in share) for share in shares]
    assert max(sums) - min(sums) <= max([1, *people])
    assert ALL_PIECES.choose(pieces) == pieces
    assert NO_PIECES.choose(pieces) == []


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/3/5"])
def test_a_wrong_shard_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="expected K/N"):
        Shard.parse(text)


def test_shards_and_a_merge_make_the_same_files(whole: Path, in_pieces: Path) -> None:
    for number in (1, 2):
        with pytest.raises(Unpublished, match=f"shard {number}/2 is done"):
            reconstruct(run(in_pieces, shard=Shard(number, 2)))
        assert not (in_pieces / "microdata").exists()
        if number == 1:
            with pytest.raises(StageError, match="of 3 pieces are not finished"):
                reconstruct(run(in_pieces, shard=NO_PIECES))
    reconstruct(run(in_pieces, shard=NO_PIECES))
    assert data(in_pieces, "microdata").keys() == data(whole, "microdata").keys()
    for name, rows in data(whole, "microdata").items():
        assert rows.equals(data(in_pieces, "microdata")[name])


def test_one_shard_of_one_publishes_so_it_is_alone(in_pieces: Path) -> None:
    options = RunOptions(TOY, in_pieces, workers=1, verbosity=-1)
    shared, alone = (options.sharded(shard, force=False).run() for shard in ("1/2", "1/1"))
    with (
        shared.transaction(shared.recipe(RECONSTRUCT, {})),
        pytest.raises(StageError, match="another process is running"),
    ):
        reconstruct(alone)
    assert reconstruct(alone).manifest.rows == 2_015


def test_shards_do_not_shut_each_other_out_but_a_run_alone_does(in_pieces: Path) -> None:
    first = run(in_pieces, shard=Shard(1, 2))
    recipe = first.recipe(RECONSTRUCT, {})
    with (
        first.transaction(recipe),
        first.transaction(recipe),
        pytest.raises(StageError, match="another process is running"),
    ):
        reconstruct(run(in_pieces))
    with pytest.raises(StageError, match="undo the other shards"):
        reconstruct(run(in_pieces, shard=Shard(1, 2), force=True))


def test_a_worker_that_dies_once_changes_nothing(
    whole: Path, in_pieces: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(deadly_questions.DEATHS, str(tmp_path / "deaths"))
    monkeypatch.setenv(deadly_questions.LIVES, "1")
    monkeypatch.setattr(question_worker, "ask_piece", deadly_questions.reconstruct_or_die)
    manifest = reconstruct(run(in_pieces, "memory=10 GB", workers=2)).manifest
    assert manifest.run.workers == 2
    assert (tmp_path / "deaths").read_text().count("\n") == 1
    assert set(manifest.statuses) == {"unique", "solved"}
    for name, rows in data(whole, "microdata").items():
        assert rows.equals(data(in_pieces, "microdata")[name])


def test_what_kills_the_solver_is_quarantined_and_bounded(
    whole: Path, in_pieces: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(deadly_questions.DEATHS, str(tmp_path / "deaths"))
    monkeypatch.setenv(deadly_questions.LIVES, "1000")
    monkeypatch.setattr(question_worker, "ask_piece", deadly_questions.reconstruct_or_die)
    manifest = reconstruct(run(in_pieces, workers=2)).manifest
    # twice at the region, once more at the part of it that is to blame
    assert (tmp_path / "deaths").read_text().count("\n") == 3
    assert manifest.statuses["quarantined"] > 0
    blocks, before = (pl.concat(data(w, "blocks").values()) for w in (in_pieces, whole))
    gone = blocks.filter(pl.col("status") == "quarantined")["geoid_block"].implode()
    place = pl.col("geoid_block")
    others = before.filter(~place.is_in(gone)).drop("seconds")
    assert blocks.filter(~place.is_in(gone)).drop("seconds").equals(others)
    records, truth = (pl.concat(data(w, "microdata").values()) for w in (in_pieces, whole))
    # of the quarantined units everybody is there whom propagation proves, but not everybody
    proven = truth.filter(place.is_in(gone), pl.col("certain"))
    there = records.filter(place.is_in(gone))
    histogram = ["geoid_block", *RELEASE.histogram]
    found = there.filter(pl.col("certain")).select(histogram).sort(histogram)
    assert found.equals(proven.select(histogram).sort(histogram))
    assert there.height < truth.filter(place.is_in(gone)).height

    monkeypatch.undo()
    measured = solvar(run(in_pieces)).manifest
    assert measured.totals["people"] == truth.height
    rows, right = (pl.concat(data(w, "solvar").values()) for w in (in_pieces, whole))
    both = rows.join(right, on="geoid_block", suffix="_right").filter(place.is_in(gone))
    assert both.height == len(gone[0])
    assert both.select((pl.col("population") == pl.col("population_right")).all()).item()
    assert both.select((pl.col("solvar_pct") <= pl.col("solvar_pct_right")).all()).item()
    assert both.select((pl.col("solvar_upper_pct") >= pl.col("solvar_pct_right")).all()).item()
    assert both.select((pl.col("certain_records") <= pl.col("certain_records_right")).all()).item()
    assert both.select((pl.col("certain_upper") >= pl.col("certain_records_right")).all()).item()


def test_solvar_goes_on_without_what_kills_it(
    whole: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    work = Path(shutil.copytree(whole, tmp_path / "work"))
    monkeypatch.setenv(deadly_questions.DEATHS, str(tmp_path / "deaths"))
    monkeypatch.setenv(deadly_questions.LIVES, "1000")
    monkeypatch.setattr(question_worker, "ask_piece", deadly_questions.measure_or_die)
    ingest(run(work, "ingest.piece_people=1"))
    reconstruct(run(work))
    solvar(run(work, workers=2, force=True))
    assert (tmp_path / "deaths").read_text().count("\n") == 3
    found, right = (pl.concat(data(w, "solvar").values()) for w in (work, whole))
    both = found.join(right, on="geoid_block", suffix="_right")
    bounded = both.filter(pl.col("status") == "bounded")
    assert 0 < bounded.height < both.height
    assert both.filter(pl.col("status") == "proven").height == both.height - bounded.height
    assert both.select((pl.col("solvar_upper_pct") >= pl.col("solvar_pct_right")).all()).item()
    assert both.select((pl.col("certain_records") <= pl.col("certain_records_right")).all()).item()


def test_a_piece_that_dies_before_any_solver_is_given_up(
    in_pieces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(question_worker, "ask_piece", shards.die_at_once)
    with pytest.raises(WorkerError, match="died"):
        reconstruct(run(in_pieces, workers=2))


def test_a_death_leaves_no_trace_for_the_next(tmp_path: Path) -> None:
    here = run(tmp_path)
    with here.transaction(here.recipe(RECONSTRUCT, {})) as stage:
        on_death = QuarantineOnDeath("reconstruct", stage.staging, here.reporter)
        shard = WorkItem("county 01001", Piece("01001"))
        trace = stage.staging.trace(shard.payload)
        trace.parent.mkdir(parents=True)
        trace.write_text("01001020100\n01001020100")
        assert on_death(shard, "signal 9") == shard
        assert on_death(shard, "signal 9") == shard, "outside of any solver, for the first time"
        assert on_death(shard, "signal 9") is None


def test_a_unit_whose_code_says_nothing_of_its_region_is_quarantined(tmp_path: Path) -> None:
    here = run(tmp_path)
    with here.transaction(here.recipe(RECONSTRUCT, {})) as stage:
        on_death = QuarantineOnDeath("reconstruct", stage.staging, here.reporter)
        shard: WorkItem[Piece] | None = WorkItem("everywhere", Piece("everywhere"))
        for geoid in ("north", "north", "W2"):
            assert shard is not None
            trace = stage.staging.trace(shard.payload)
            trace.parent.mkdir(parents=True, exist_ok=True)
            trace.write_text(f"{geoid}\nnorth")
            shard = on_death(shard, "signal 9")
        assert shard is not None
        assert shard.payload.split_regions == {"north"}
        assert shard.payload.excluded == {"W2"}


def test_memory_limits_the_workers(in_pieces: Path) -> None:
    """Where it is enough, another test has both of them."""
    little = run(in_pieces, "memory=1 GB", workers=2)
    assert reconstruct(little).manifest.run.workers == 0


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many workers were asked for, with none started."""
    workers_of_runs: list[int] = []

    def run_items(*_: object, workers: int, **__: object) -> Results[None]:
        workers_of_runs.append(workers)
        return Results((), (), 0)

    monkeypatch.setattr("recon_cli.pipeline.run.run_items", run_items)
    return workers_of_runs


@pytest.mark.parametrize(
    ("cluster", "workers"), [("{processes: 8}", 1), ("{scheduler: tcp://head:8786}", 8)]
)
def test_memory_here_does_not_limit_workers_elsewhere(
    tmp_path: Path, asked: list[int], cluster: str, workers: int
) -> None:
    here = run(tmp_path, "memory=1 GB", f"cluster={cluster}", workers=8)
    here.map_pieces("reconstruct", lambda _job, _piece, _tick: None, lambda: None, [])
    assert asked == [workers]


@pytest.mark.parametrize(
    ("people", "changes", "workers"),
    [(900, [], 1), (2_500, [], 2), (900, ["cluster={processes: 8}"], 8)],
)
def test_light_work_starts_no_more_processes_than_it_is_worth(
    tmp_path: Path, asked: list[int], people: int, changes: list[str], workers: int
) -> None:
    here = run(tmp_path, *changes, workers=8)
    pieces = [Piece("01001", people=people)]
    here.map_pieces("survey", lambda _job, _piece, _tick: None, lambda: None, pieces, light=1_000)
    assert asked == [workers]


def test_the_independent_check_would_notice_a_missing_region(whole: Path) -> None:
    """Quarantine leaves regions out of the comparison; nothing else may be."""
    from recon_cli.store.protection import read_published

    partition = next(iter(data(whole, "microdata")))
    published = read_published(whole, RELEASE, partition.partition("=")[2])
    records = data(whole, "microdata")[partition]
    first = records["geoid_block"][0]
    found = compare(
        RELEASE, published, records.filter(pl.col("geoid_block") != first), RELEASE.tables
    )
    assert not found.mismatches.is_empty()
