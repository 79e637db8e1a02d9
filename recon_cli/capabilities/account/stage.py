"""The account of products about the same people: each privacy loss, before noise is drawn.

The account is a file with a line of JSON for each product. Lines are only appended, under a lock on
the file, and never changed or removed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final, Protocol

from recon_cli.capabilities.account.account import Limit, Product, Spend, Total
from recon_cli.capabilities.account.options import Account
from recon_cli.errors import BudgetError, ConfigError, StageError
from recon_cli.pipeline.run import Run
from recon_cli.pipeline.stages import PROTECTIONS, stage_named
from recon_cli.stage import PRIVATE, Stage
from recon_cli.store import files
from recon_cli.store.manifest import MANIFEST, read_manifest
from recon_cli.store.recipe import Recipe

#: Default path in a work folder.
ACCOUNT_FILE: Final = f"{PRIVATE}/account.jsonl"
#: Seconds to wait for another process that reserves.
_SECONDS: Final = 60.0


class Spending(Protocol):
    """A protection of a run that spends a privacy budget."""

    run: Run
    config: Any

    @property
    def stage(self) -> Stage: ...

    @property
    def recipe(self) -> Recipe: ...

    @property
    def records_from(self) -> Path:
        """Return the folder of its records or counts."""

    @property
    def protected_before(self) -> Sequence[str]:
        """Return the earlier protections of its records or counts."""

    @property
    def spends(self) -> Sequence[Spend]:
        """Return the privacy loss of its queries."""

    @property
    def invariants(self) -> Sequence[str]:
        """Describe what the protection publishes without noise."""


@dataclass(frozen=True)
class KeptAccount:
    """An account in a file.

    Attributes:
        of: Name of the people whom the products are about.
    """

    path: Path
    of: str
    limit: Limit | None

    def products(self) -> list[Product]:
        """List the reserved products in order; none if there is no account yet.

        Raises:
            StageError: The file cannot be read.
        """
        return [product for name, product in _read_lines(self.path) if name == self.of]

    def reserve(self, protection: Spending, id_: str) -> None:
        """Record the privacy loss of a protection, once for each ``id_``.

        Raises:
            BudgetError: The total would exceed the limit.
            ConfigError: The records are in the account under another name.
            StageError: The file cannot be read or written, or lacks what the work folder has spent.
        """
        product = Product(
            id_,
            protection.stage.name,
            protection.run.work.name,
            protection.records_from.name,
            tuple(protection.spends),
            tuple(protection.invariants),
            tuple(protection.protected_before),
            _records_digest(protection),
        )
        _reserve(self, product, protection.run.work)


def account_of(work: Path, section: Account) -> KeptAccount:
    """Open the account of a config section."""
    limit = section.limit
    allowed = None if limit is None else Limit(limit.rho, limit.epsilon, section.delta)
    return KeptAccount(section.file or work / ACCOUNT_FILE, section.of, allowed)


def _records_digest(protection: Spending) -> str:
    recipe = protection.recipe
    inputs = [value for each in recipe.partitions.values() for value in each.values()]
    digests = sorted({*inputs, *recipe.shared.values()})
    return hashlib.sha256("\n".join(digests).encode()).hexdigest() if digests else ""


def other_accounts(kept: KeptAccount, work: Path) -> list[Path]:
    """List accounts of sibling work folders about the same people, by name or by records.

    Raises:
        StageError: One cannot be read.
    """
    own = kept.products()
    records = {each.records for each in own if each.records}
    found = []
    for path in sorted(work.resolve().parent.glob(f"*/{ACCOUNT_FILE}")):
        if path.resolve() != kept.path.resolve():
            others = _read_lines(path)
            if any(of == kept.of or each.records in records for of, each in others):
                found.append(path)
    return found


def uncounted(work: Path, products: Sequence[Product]) -> list[tuple[str, str]]:
    """List stage and folder of the publications in a work folder that are not among ``products``.

    Runs for study are not publications.

    Raises:
        StageError: A manifest cannot be read.
    """
    known = {product.id for product in products}
    return [(stage, folder.name) for folder, stage, id_ in _published(work) if id_ not in known]


def _published(work: Path) -> Iterator[tuple[Path, str, str | None]]:
    """Yield the folders for publication in a work folder, with stage and id in an account."""
    for method in PROTECTIONS.values():
        folder, stage = work / method.folders[0], stage_named(method.name)
        if (folder / MANIFEST).is_file():
            manifest = read_manifest(folder, command=stage.command)
            if manifest.publishable is not False:
                yield folder, stage.name, manifest.notes.get("account")


def _read_lines(path: Path) -> list[tuple[str, Product]]:
    """Read all products and the names of their people, in order.

    Raises:
        StageError: The file cannot be read; names the line.
    """
    with files.disk(path):
        text = path.read_text() if path.exists() else ""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            content = json.loads(line)
            found.append((str(content.pop("of")), _product(content)))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            said = f": {error}" if "does not fit" in str(error) else ""
            raise StageError(f"{path}:{number}: no line of an account{said}") from error
    return found


def _reserve(kept: KeptAccount, product: Product, work: Path) -> None:
    """Record the privacy loss of a product once, before its noise is drawn.

    Raises:
        BudgetError: The total would exceed the limit; nothing is written.
        ConfigError: The records are in the account under another name.
        StageError: The file cannot be read or written, lacks what the work folder has spent, or
            another process holds it.
    """
    path, of, limit = kept.path, kept.of, kept.limit
    files.make_folder(path.parent)
    with _locked(path):
        lines = _read_lines(path)
        _require_spent(path, work, product.stage, {each.id for _, each in lines})
        for name, each in lines:
            if name != of and product.records and each.records == product.records:
                raise ConfigError(
                    f"account.of: {of!r}: the same records are in {path} as {name!r}; what is "
                    "drawn of them adds up there, so use that name"
                )
        products = [each for name, each in lines if name == of]
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


def _require_spent(path: Path, work: Path, stage: str, known: Collection[str]) -> None:
    """Refuse an account that lacks the earlier privacy loss of a stage that runs again.

    Raises:
        StageError: Names the folder.
    """
    for folder, made_by, id_ in _published(work):
        if made_by == stage and id_ is not None and id_ not in known:
            raise StageError(
                f"{path}: has no line of what {folder.name}/ in {work} spent; was it deleted, or "
                "is account.file another one? put it back, as what was published stays spent"
            )


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    from filelock import FileLock, Timeout  # only who writes needs a lock

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
