"""Where the stages of `recon protect` have their chance from: a secret key, or a seed for study."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recon_cli.store import Transaction
from recon_cli.store.recipe import private_folder

if TYPE_CHECKING:
    from recon_cli.chance import KeyedChance


def chance_of(
    transaction: Transaction, study_seed: int | None, *, kept_for: str | None = None
) -> KeyedChance:
    """What a stage draws from.

    Without a seed the key is secret, and lies with the unfinished output: an interrupted run
    repeats itself, and once the output is published the key is gone.

    Args:
        transaction: The stage, open for writing.
        study_seed: For study.
        kept_for: A digest of what a secret key is to be kept for after publication, in the private
            folder of the stage; other inputs get another one.

    Raises:
        StageError: The disk refused.
    """
    from recon_cli.chance import KeyedChance  # noqa: PLC0415 - loads numpy
    from recon_cli.store.chance_key import KEY_FILE, kept_key  # noqa: PLC0415

    recipe = transaction.recipe
    if study_seed is not None:
        return KeyedChance.for_study(study_seed).named(recipe.stage.name)
    path, bound_to = transaction.staging.root / KEY_FILE, recipe.key
    if kept_for is not None:
        path, bound_to = transaction.work / private_folder(recipe.stage.name) / KEY_FILE, kept_for
    return KeyedChance.of_key(kept_key(path, bound_to)).named(recipe.stage.name)
