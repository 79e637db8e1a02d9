"""The account of products of the same people: what each spends, written before it is drawn.

It is a file with a line of JSON for each product. A line is never changed or taken out again.
Whoever adds one holds the lock of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from recon_cli.config.sections.account import Account
from recon_cli.errors import BudgetError, StageError
from recon_cli.noise.account import Limit, Product, Spend, Total
from recon_cli.pipeline.stages import stage_named
from recon_cli.protections import PROTECTIONS
from recon_cli.stage import PRIVATE
from recon_cli.store import files
from recon_cli.store.manifest import MANIFEST, read_manifest

if TYPE_CHECKING:
    from recon_cli.pipeline.protecting import ProtectionStage


#: Where it lies in a work folder, unless the config says otherwise.
ACCOUNT_FILE: Final = f"{PRIVATE}/account.jsonl"
#: How long to wait for another process that reserves.
_SECONDS: Final = 60.0


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
        return _read_products(self.path, self.of)

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
        _reserve(self.path, self.of, product, self.limit)


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


def _read_products(path: Path, of: str) -> list[Product]:
    """The products of some people, in order; none where there is no account yet.

    Raises:
        StageError: The file cannot be read; names the line.
    """
    with files.disk(path):
        text = path.read_text() if path.exists() else ""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            content = json.loads(line)
            if content.pop("of") == of:
                found.append(_product(content))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StageError(f"{path}:{number}: no line of an account") from error
    return found


def _reserve(path: Path, of: str, product: Product, limit: Limit | None) -> None:
    """Write down what a product spends, before anything of it is drawn; once for each.

    Raises:
        BudgetError: It would go beyond the limit; nothing is written.
        StageError: The file cannot be read or written, or another process holds it.
    """
    files.make_folder(path.parent)
    with _locked(path):
        products = _read_products(path, of)
        if any(each.id == product.id for each in products):
            return
        spends = [spend for each in (*products, product) for spend in each.spends]
        broken = None if limit is None else limit.broken_by(Total.of(spends))
        if broken is not None:
            raise BudgetError(
                f"account of {of!r}: with `{product.stage}` {broken}; nothing was drawn"
            )
        before = path.read_bytes() if path.exists() else b""
        line = json.dumps({"of": of, **_content(product)}, ensure_ascii=False, sort_keys=True)
        files.write_bytes(path, before + line.encode() + b"\n")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout  # noqa: PLC0415 - only who writes needs a lock

    with files.disk(path):
        try:
            with FileLock(path.with_name(f"{path.name}.lock"), timeout=_SECONDS, mode=0o600):
                yield
        except Timeout:
            raise StageError(f"{path}: another process holds it; try again") from None


def _content(product: Product) -> dict[str, Any]:
    content = asdict(product)
    for spend in content["spends"]:
        for key in ("budget", "variance"):
            spend[key] = None if spend[key] is None else str(spend[key])
    return content


def _product(content: dict[str, Any]) -> Product:
    spends = [
        Spend(**{**each, **{key: _fraction(each[key]) for key in ("budget", "variance")}})
        for each in content.pop("spends")
    ]
    for key in ("invariants", "notes"):
        content[key] = tuple(content[key])
    return Product(**content, spends=tuple(spends))


def _fraction(text: str | None) -> Fraction | None:
    return None if text is None else Fraction(text)
