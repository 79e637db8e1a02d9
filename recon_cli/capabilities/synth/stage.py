"""Run `recon data synth`: a synthetic population → ``persons/``, ``households/``, ``places/``."""

from __future__ import annotations

import time
from dataclasses import dataclass

from recon_cli.capabilities.synth import SYNTH
from recon_cli.capabilities.synth.county import generate_county
from recon_cli.capabilities.synth.geography import County, plan_nation
from recon_cli.capabilities.synth.options import Synth
from recon_cli.capabilities.synth.parameters import Nation, load_nation
from recon_cli.execute import OnProgress
from recon_cli.pipeline.opened_stage import MadeStage
from recon_cli.pipeline.run import Run
from recon_cli.store import Manifest, Piece, Staging, Transaction


def open_stage(run: Run) -> MadeStage:
    """Open the stage that generates a population, county by county."""
    config = run.section(Synth)
    seed = config.fixed_seed
    nation = nation_of(config)
    people = config.people
    if people is None:
        people = round((config.blocks or 0) * nation.geography.people_per_block)
    recipe = run.recipe(
        SYNTH, {"people": people, "parameters": nation.model_dump(mode="json")}, seed=seed
    )

    def make(stage: Transaction) -> Manifest:
        plan = plan_nation(nation, people, seed)
        pieces = [
            Piece(county.geoid, units=len(county.population), people=county.people)
            for county in plan
        ]
        context = SynthContext(
            nation,
            {county.geoid: county for county in plan},
            stage.staging,
            seed,
            left_out=tuple({"group_quarters"} - set(run.release.feature_index)),
        )
        results = run.map_unfinished(stage, synth_partition, lambda: context, pieces)
        return stage.publish(pieces, usages=results.usages, workers=results.workers)

    return MadeStage(recipe, make)


def nation_of(config: Synth) -> Nation:
    """Load the parameters that a section names."""
    nation = load_nation(config.parameters)
    sizes = {
        name: value
        for name in ("people_per_tract", "people_per_county")
        if (value := getattr(config, name)) is not None
    }
    return nation.model_copy(update={"geography": nation.geography.model_copy(update=sizes)})


@dataclass(frozen=True)
class SynthContext:
    """The inputs that all counties of a population share.

    Attributes:
        plan: Geoid → county.
        staging: Where they are written.
        left_out: Columns of persons that the release has no feature for.
    """

    nation: Nation
    plan: dict[str, County]
    staging: Staging
    seed: int
    left_out: tuple[str, ...]


def synth_partition(context: SynthContext, piece: Piece, tick: OnProgress) -> None:
    """Generate and write one county; runs in a worker."""
    started, partition = time.perf_counter(), piece.partition
    county = context.plan[partition]
    records = generate_county(context.nation, county, context.seed)
    persons = records.persons.drop(context.left_out)
    inhabited = int((records.places["population"] > 0).sum())
    context.staging.write(
        piece,
        {"persons": persons, "households": records.households, "places": records.places},
        statuses={"inhabited": inhabited, "uninhabited": records.places.height - inhabited},
        totals={
            "units": records.places.height,
            "people": records.persons.height,
            "households": int((records.households["people"] > 0).sum()),
            "vacant": int((records.households["people"] == 0).sum()),
            "in_group_quarters": records.persons["household"].null_count(),
            "data_defined": int(records.persons["data_defined"].sum()),
        },
        started=started,
    )
    tick(records.places.height, records.persons.height)
