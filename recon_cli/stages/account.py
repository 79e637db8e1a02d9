"""The account that a run keeps, and what its products are told with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recon_cli.config.sections.account import Account
from recon_cli.noise.account import Limit, Product
from recon_cli.pipeline.stages import stage_named
from recon_cli.protections import PROTECTIONS
from recon_cli.store.account_file import ACCOUNT_FILE, read_products, reserve
from recon_cli.store.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from recon_cli.pipeline.protecting import ProtectionStage


@dataclass(frozen=True)
class KeptAccount:
    """An account.

    Attributes:
        path: Its file.
        of: Whom the products are of.
        limit: What may be spent.
    """

    path: Path
    of: str
    limit: Limit | None

    def products(self) -> list[Product]:
        """What was reserved so far, in order.

        Raises:
            StageError: The file cannot be read.
        """
        return read_products(self.path, self.of)

    def reserve(self, protection: ProtectionStage[Any, Any], id_: str) -> None:
        """Write down what a protection spends; once for each ``id_``.

        Raises:
            BudgetError: It would go beyond the limit.
            StageError: The file cannot be read or written.
        """
        records = getattr(protection.config, "records", None)
        counts = getattr(protection.config, "counts", None)
        origin: Path = counts or records or protection.run.work / "persons"
        product = Product(
            id_,
            protection.stage.name,
            protection.run.work.name,
            origin.name,
            tuple(protection.spends),
            tuple(protection.invariants),
            _done_before(origin),
        )
        reserve(self.path, self.of, product, self.limit)


def account_of(work: Path, section: Account) -> KeptAccount:
    """The account that a section asks for."""
    limit = section.limit
    allowed = None if limit is None else Limit(limit.rho, limit.epsilon, section.delta)
    return KeptAccount(section.file or work / ACCOUNT_FILE, section.of, allowed)


def uncounted(work: Path, products: Sequence[Product]) -> list[tuple[str, str]]:
    """Stage and folder of what was made for publication in a work folder, beside some products.

    What is for study is not for publication.

    Raises:
        StageError: A manifest cannot be read.
    """
    known = {product.id for product in products}
    found = []
    for method in PROTECTIONS.values():
        folder, stage = work / method.folders[0], stage_named(method.name)
        if (folder / MANIFEST).is_file():
            manifest = read_manifest(folder, command=stage.command)
            if manifest.publishable is not False and manifest.notes.get("account") not in known:
                found.append((stage.name, folder.name))
    return found


def _done_before(origin: Path) -> tuple[str, ...]:
    """What the numbers do not promise, as records were protected before they were measured."""
    if not (origin / MANIFEST).is_file():
        return ()
    stage = read_manifest(origin, command="recon protect").stage
    if not stage.startswith("protect "):
        return ()
    return (f"of the file that `{stage}` made, not of the records before it",)
