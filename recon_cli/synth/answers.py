"""What the members of a household answer about race and ethnicity.

The householder's origin is drawn where the household lives. Partners mostly share it, children
tick the races of their parents, of whom one may live elsewhere, a few members answer otherwise,
lodgers come from the block.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recon_cli.arrays import FloatArray, IntArray
from recon_cli.synth.households import CountyHouseholds, Role
from recon_cli.synth.origins import AnswerModel, Answers, draw
from recon_cli.synth.parameters import Origins


@dataclass(frozen=True)
class HouseholdAnswers:
    """Everything that the answers of a county's households depend on.

    Attributes:
        origins: Parameters.
        homes: Households and roles.
        blocks: For each block the shares of origins.
        tracts: For each block the shares of origins in its tract.
    """

    origins: Origins
    homes: CountyHouseholds
    blocks: FloatArray
    tracts: FloatArray

    def answer(self, rng: np.random.Generator) -> Answers:
        """Race and ethnicity of every member."""
        homes, answer_model = self.homes, AnswerModel(self.origins)
        local = self.blocks[homes.block]
        origin = draw(local, rng)
        head = answer_model.answer(origin, rng)
        mate = self._mates(origin, head, rng)
        person, role = homes.household, homes.role
        own, other = head.at(person), mate.at(person)
        answers = own.where((role == Role.SPOUSE) | (role == Role.PARTNER), other)
        young = (role == Role.CHILD) | (role == Role.GRANDCHILD)
        answers = answers.where(young, self._children(own, other, rng))
        otherwise = answer_model.answer_differently(origin[person], answers, local[person], rng)
        answers = answers.where(role != Role.HOUSEHOLDER, otherwise)
        lodger = (role == Role.NONRELATIVE) & (rng.random(len(person)) < self.origins.stranger)
        return answers.put(lodger, answer_model.answer(draw(local[person[lodger]], rng), rng))

    def _mates(self, origin: IntArray, head: Answers, rng: np.random.Generator) -> Answers:
        """What a partner of each householder answers, or would if there: mostly the same."""
        married, unmarried = self.origins.mixed
        rate = np.where(self.homes.second(Role.SPOUSE), married, unmarried)
        mixed = rng.random(self.homes.count) < rate
        anew = draw(self.tracts[self.homes.block], rng)
        return head.where(
            mixed, AnswerModel(self.origins).answer(np.where(mixed, anew, origin), rng)
        )

    def _children(self, one: Answers, two: Answers, rng: np.random.Generator) -> Answers:
        """Children of two parents: the races of both or of one, alike within a household."""
        both, which, ethnicity = rng.random((3, self.homes.count))[:, self.homes.household]
        single = np.where(which < 0.5, one.race, two.race)
        race = np.where(both < self.origins.both, one.race | two.race, single)
        mixed = one.hispanic != two.hispanic
        hispanic = np.where(mixed, ethnicity < self.origins.child_hispanic, one.hispanic)
        return Answers(race, hispanic)
