"""Stage folders: published whole or not at all, resumable by partition, checked when read."""

from recon_cli.stage import INGEST, Stage
from recon_cli.store.folder import Folder, open_folder, partitions, read_partition
from recon_cli.store.manifest import Manifest, PartitionEntry
from recon_cli.store.piece import Piece, Span
from recon_cli.store.published import coverage_bytes
from recon_cli.store.recipe import InputFile, Recipe
from recon_cli.store.stage_status import StageStatus, State, stage_status
from recon_cli.store.staging import PartWriter, Staging
from recon_cli.store.transaction import Transaction, shared_transaction, transaction

__all__ = [
    "INGEST",
    "Folder",
    "InputFile",
    "Manifest",
    "PartWriter",
    "PartitionEntry",
    "Piece",
    "Recipe",
    "Span",
    "Stage",
    "StageStatus",
    "Staging",
    "State",
    "Transaction",
    "coverage_bytes",
    "open_folder",
    "partitions",
    "read_partition",
    "shared_transaction",
    "stage_status",
    "transaction",
]
