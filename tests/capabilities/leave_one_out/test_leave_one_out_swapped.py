"""People left out of swapped tables: the swap drawn again, against the attack from scratch."""

from __future__ import annotations

from collections import Counter
from functools import cache, partial
from pathlib import Path

import polars as pl
import pytest

import recon_cli as recon
from benchmarks.leave_one_out_swapped import SwappedPublication, attack_swapped, draw_moves
from recon_cli.capabilities.leave_one_out.again import ScratchAttack
from recon_cli.capabilities.leave_one_out.options import LeaveOneOut
from recon_cli.capabilities.swap.settings import load_swap
from recon_cli.capabilities.swap.swap import apply_moves
from recon_cli.capabilities.tabulate.tabulation import publish_records
from recon_cli.publication import Publication
from tests.support import nations

SF1 = recon.load_release("sf1_2010")
PLACE, FEATURES = SF1.geoid_column, [feature.name for feature in SF1.features]
_NAMED = SF1.geography.by_name
LEVELS = (_NAMED["tract"], _NAMED["county"], _NAMED["state"])
CHANCE = recon.KeyedChance.for_study(4)
COMPARED = ("chance", "settled", "certain")


@cache
def persons() -> pl.DataFrame:
    """Twenty small blocks: few enough to attack them again and again."""
    everybody = nations.whole().persons
    sizes = everybody.group_by(PLACE).len().filter(pl.col("len").is_between(2, 25)).sort(PLACE)
    chosen = sizes.head(20)[PLACE]
    return everybody.filter(pl.col(PLACE).is_in(chosen.implode()))


def one_publication(published: Publication, _row: int) -> tuple[Publication]:
    return (published,)


@pytest.mark.parametrize("setting", ["targeted", "hi"])
def test_it_is_the_attack_from_scratch_on_tables_swapped_again(setting: str) -> None:
    """Everything published anew, one person after the other, by the attack that is enumerated."""
    people, tables = persons(), SF1.select_tables("block")
    options = LeaveOneOut(gains=("race", "hispanic"), seed=2, solutions=2)
    share = 8 / people.height
    units = people[PLACE].unique()

    def published(some: pl.DataFrame) -> Publication:
        return publish_records(SF1, some, units)

    draw = partial(draw_moves, settings=load_swap(setting), chance=CHANCE, levels=LEVELS)
    swap = SwappedPublication(draw, apply_moves, published)
    found = attack_swapped(SF1, tables, people, swap, options, share=share)
    assert (found["status"] == "complete").all()
    whole = apply_moves(people, swap.draw(people))
    attack = ScratchAttack.of(SF1, tables, people, published(whole), options)
    chosen = attack.people(share, "household")
    assert found.height == chosen.height > 3
    for number, row in enumerate(chosen["_row"]):
        others = people.filter(pl.int_range(pl.len()) != row)
        again = apply_moves(others, swap.draw(others))
        kept = apply_moves(others, swap.draw(people))
        redrawn, fixed = (
            attack.compare(chosen[[number]], partial(one_publication, published(some)))[0]
            for some in (again, kept)
        )
        for name in COMPARED:
            assert found[name][number] == redrawn[name][0]
            assert found[f"{name}_without"][number] == redrawn[f"{name}_without"][0]
            assert found[f"{name}_fixed"][number] == fixed[f"{name}_without"][0]
        before, after = (Counter(each.select(PLACE, *FEATURES).rows()) for each in (whole, again))
        differ = {record[0] for record in (before - after) + (after - before)}
        assert found["units_changed"][number] == len(differ) >= 1


def test_without_swaps_it_is_the_attack_without_them(tmp_path: Path) -> None:
    none = tmp_path / "none.yaml"
    none.write_text(
        "method: experimental\nrate: 0.0\nsize_noise: [0.0, 1.0, 0.0]\n"
        "pseudo_tract: [1.0, 0.0, 0.0]\n"
    )
    people = persons()
    block = people[PLACE].mode()[0]
    units, tables = people[PLACE].unique().sort(), SF1.select_tables("block")
    draw = partial(draw_moves, settings=load_swap(str(none)), chance=CHANCE, levels=LEVELS)
    swap = SwappedPublication(draw, apply_moves, lambda some: publish_records(SF1, some, units))
    found = attack_swapped(SF1, tables, people, swap, LeaveOneOut(within=block))
    plain = recon.leave_one_out(
        SF1,
        publish_records(SF1, people, people[PLACE].unique()),
        people,
        tables="block",
        within=block,
    )
    assert (found["units_changed"] == 1).all()
    for name in COMPARED:
        assert found[f"{name}_without"].equals(found[f"{name}_fixed"], check_names=False)
    key = [PLACE, *plain.columns[1 : plain.columns.index("people")]]
    decided = ("settled", "settled_without", "certain", "certain_without")
    both = found.select(*key, *decided).unique()
    both = both.join(plain.select(*key, *decided), on=key, nulls_equal=True)
    assert both.height == plain.height > 10
    for name in decided:
        assert both[name].equals(both[f"{name}_right"], check_names=False)
