"""`recon check` with `scope: new` against every population that the publications allow."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given

from recon_cli.capabilities.check.options import Judged
from recon_cli.capabilities.check.stage import GivenConfig, check
from recon_cli.errors import ContradictionError
from tests.support.properties import SEEDS, draws, examples

BLOCKS = ("A01", "A02")
SEX, AGE, WORK = ("female", "male"), tuple(range(4)), (False, True)
#: Everybody who can be: block, sex, age, work.
KINDS = list(itertools.product(BLOCKS, SEX, AGE, WORK))
PEOPLE = 4
GEOGRAPHY = {
    "levels": [{"level": "block", "digits": 3}, {"level": "town", "digits": 1}],
    "partition": "town",
}

Kind = tuple[str, str, int, bool]


def populations(people: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """(populations × kinds) how many there are of each kind."""
    chosen = itertools.combinations_with_replacement(range(len(KINDS)), people)
    listed = np.array(list(chosen))
    found = np.zeros((len(listed), len(KINDS)), dtype=np.int64)
    np.add.at(found, (np.arange(len(listed))[:, None], listed), 1)
    return found


WORLDS = populations(PEOPLE)


@dataclass
class Made:
    """A publication: its cells as plain sets of people, and the files that say so."""

    name: str
    groups: dict[str, tuple[int, ...]]
    universe: dict[str, Any]
    levels: tuple[str, ...]
    cells: tuple[str, ...]
    below: int
    seen: dict[tuple[str, int], list[bool]] = field(default_factory=dict)

    def counted(self) -> Iterator[tuple[str, int, list[bool]]]:
        """Geoid, number and people of each cell."""
        inside = [self._is_in_universe(kind) for kind in KINDS]
        tests: list[Any] = []
        for each in self.cells:
            if each == "total":
                tests.append(lambda _: True)
            elif each == "sex":
                tests += [lambda k, s=s: k[1] == s for s in SEX]
            elif each == "work":
                tests += [lambda k, w=w: k[3] == w for w in WORK]
            else:
                tests += [lambda k, g=g: k[2] in g for g in self.groups.values()]
        places = [*(BLOCKS if "block" in self.levels else ()), *("A" * ("town" in self.levels))]
        for place in places:
            for number, test in enumerate(tests, start=1):
                held = [
                    bool(ok and kind[0].startswith(place) and test(kind))
                    for ok, kind in zip(inside, KINDS, strict=True)
                ]
                yield place, number, held

    def _is_in_universe(self, kind: Kind) -> bool:
        values = {"sex": kind[1], "age": kind[2], "work": kind[3]}
        return all(values[name] in allowed for name, allowed in self.universe.items())

    def write(self, folder: Path, truth: np.ndarray[Any, Any]) -> dict[str, Any]:
        """Its files; its entry in the register."""
        cells = [{"by": each} if each != "total" else each for each in self.cells]
        schema = {
            "release": self.name,
            "title": self.name,
            "features": {
                "sex": {"categories": list(SEX)},
                "band": {"categories": list(self.groups)},
                "work": {"categories": list(WORK)},
            },
            "geography": GEOGRAPHY,
            "microdata": ["sex", "band", "work"],
            "histogram": ["sex", "band", "work"],
            "families": [{"levels": list(self.levels), "cells": cells, "tables": {"T": {}}}],
        }
        (folder / f"{self.name}.yaml").write_text(yaml.safe_dump(schema))
        rows = ["geoid,table,cell,count"]
        for geoid, number, held in self.counted():
            n = int(truth[held].sum())
            rows.append(f"{geoid},T,{number},{'' if 0 < n < self.below else n}")
        (folder / f"{self.name}.csv").write_text("\n".join(rows) + "\n")
        ingest: dict[str, Any] = {"source": "tidy", "paths": [f"{self.name}.csv"]}
        if self.below:
            law = {"statements": [{"law": {"suppressed": {"below": self.below}}}]}
            (folder / f"{self.name}.law.yaml").write_text(yaml.safe_dump(law))
            ingest["protection"] = f"{self.name}.law.yaml"
        return {
            "name": self.name,
            "release": f"{self.name}.yaml",
            "universe": {name: list(allowed) for name, allowed in self.universe.items()},
            "features": {
                "band": {"of": "age", "groups": {n: list(g) for n, g in self.groups.items()}}
            },
            "ingest": ingest,
        }

    def allows(self, truth: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which of `WORLDS` have its published counts."""
        fits = np.ones(len(WORLDS), dtype=bool)
        for _, _, held in self.counted():
            n, counts = truth[held].sum(), WORLDS[:, held].sum(axis=1)
            hidden = 0 < n < self.below
            fits &= ((counts > 0) & (counts < self.below)) if hidden else counts == n
        return fits


def random_groups(rng: np.random.Generator) -> dict[str, tuple[int, ...]]:
    of = rng.integers(0, 3, len(AGE))
    found = [tuple(age for age in AGE if of[age] == group) for group in range(3)]
    return {f"g{at}": each for at, each in enumerate(found) if each}


def random_register(seed: int) -> tuple[list[Made], np.ndarray[Any, Any]]:
    """Two publications about the same people: bands of their own, and overlapping filters."""
    rng = np.random.default_rng(seed)
    truth = WORLDS[rng.integers(len(WORLDS))]
    below = [0, int(rng.choice([0, 2, 3]))]
    first = Made("one", random_groups(rng), {}, ("block", "town"), ("total", "sex", "band"), 0)
    if rng.random() < 0.7:
        first = Made("one", first.groups, {}, ("block", "town"), ("total", "band"), 2)
    universes: list[dict[str, Any]] = [
        {},
        {"work": (True,)},
        {"age": AGE[1:]},
        {"sex": ("female",), "age": AGE[:3]},
    ]
    groups = random_groups(rng)
    universe = universes[rng.integers(len(universes))]
    if "age" in universe:  # a band without anybody is no cell
        groups = {"x": AGE[:2], "y": AGE[2:]}
    cells = (("total", "band"), ("band", "sex"), ("sex",))[rng.integers(3)]
    if "sex" in universe:
        cells = ("total", "band")
    levels = (("block",), ("town",), ("block", "town"))[rng.integers(3)]
    return [first, Made("two", groups, universe, levels, cells, below[1])], truth


def settled(worlds: np.ndarray[Any, Any], held: Sequence[bool]) -> int | None:
    counts = worlds[:, held].sum(axis=1)
    return int(counts[0]) if (counts == counts[0]).all() else None


def refined(made: Sequence[Made]) -> list[list[bool]]:
    """The people of each block that no published group of any feature tells apart."""
    sets: dict[int, list[set[Any]]] = {
        1: [{s} for s in SEX if any("sex" in each.cells for each in made)],
        2: [set(group) for each in made if "band" in each.cells for group in each.groups.values()],
        3: [{w} for w in WORK if any("work" in each.cells for each in made)],
    }
    for each in made:
        for at, name in enumerate(("sex", "age", "work"), start=1):
            if name in each.universe:
                sets[at].append(set(each.universe[name]))
    keys = [
        (kind[0], *(tuple(kind[at] in each for each in sets[at]) for at in (1, 2, 3)))
        for kind in KINDS
    ]
    return [[other == key for other in keys] for key in dict.fromkeys(keys)]


def truth_of(made: list[Made], truth: np.ndarray[Any, Any]) -> tuple[int, int]:
    """How many counts of 1 or 2 are newly known, and how many records newly certain."""
    before, now = (
        WORLDS[made[0].allows(truth)],
        WORLDS[made[0].allows(truth) & made[1].allows(truth)],
    )
    new = 0
    for each in made:
        for _, _, held in each.counted():
            n = int(truth[held].sum())
            if each is made[0] and not 0 < n < each.below:
                continue  # published before
            known = settled(now, held)
            new += known is not None and 0 < known < 3 and settled(before, held) is None
    certain = sum(
        int(now[:, held].sum(axis=1).min() - before[:, held].sum(axis=1).min())
        for held in refined(made)
    )
    return new, certain


def judged(folder: Path, made: list[Made], truth: np.ndarray[Any, Any]) -> tuple[Judged, ...]:
    register = {
        "register": "both",
        "title": "Both",
        "features": {"age": {"range": "0..3"}},
        "publications": [each.write(folder, truth) for each in made],
    }
    (folder / "register.yaml").write_text(yaml.safe_dump(register))
    rules = [
        {"recovered": {"from": 1, "below": 3}, "most": 0},
        {"certain_records": {}, "most": 0},
        {"interval": {"at_least": 1}, "most": 0},
    ]
    run = {
        "release": "register.yaml",
        "work": "work",
        "workers": 1,
        "ingest": {"source": "register", "paths": ["register.yaml"]},
        "check": {"scope": "new", "rules": rules},
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(run))
    return check(GivenConfig(folder / "run.yaml", explains=True), 0.0)


def compare(seed: int, folder: Path) -> tuple[int, int]:
    made, truth = random_register(seed)
    counts, records, _ = judged(folder, made, truth)
    new, certain = truth_of(made, truth)
    assert counts.finding.possible == 0, seed
    assert counts.finding.proven == new, seed
    assert records.finding.proven <= certain <= records.finding.proven + records.finding.possible
    if records.verdict != "undecided":
        assert (records.verdict == "broken") == (certain > 0), seed
    return new, certain


def test_newly_recovered_counts_are_those_of_enumeration(tmp_path: Path) -> None:
    found = []
    for seed in draws(4, 6):
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        found.append(compare(seed, folder))
    assert any(new for new, _ in found)
    assert any(certain for _, certain in found)


@examples(2)
@given(seed=SEEDS)
def test_newly_recovered_counts_of_any_register(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    compare(seed, tmp_path_factory.mktemp("register"))


def test_a_candidate_that_contradicts_the_others_is_named_and_so_are_its_cells(
    tmp_path: Path,
) -> None:
    """Exit code 6; where those beside it contradict each other, they are what is named."""
    bands = {"x": AGE[:2], "y": AGE[2:]}
    first = Made("one", bands, {}, ("block",), ("total", "sex"), 0)
    made, truth = [first, Made("two", bands, {}, ("block",), ("band",), 0)], WORLDS[0]
    judged(tmp_path, made, truth)
    for name, sentence in (("two", "two cannot be about the same people as one"), ("one", "")):
        counts = tmp_path / f"{name}.csv"
        head, row, *rows = counts.read_text().splitlines()
        counts.write_text("\n".join([head, f"{row}0", *rows]) + "\n")
        with pytest.raises(ContradictionError) as raised:
            check(GivenConfig(tmp_path / "run.yaml"), 0.0)
        said = str(raised.value)
        assert ("cannot be about the same people" in said) == bool(sentence)
        assert sentence in said
        assert f"table {name}." in said
        assert raised.value.exit_code == 6
