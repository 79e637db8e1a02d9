"""An office's own workbooks and tables again: with what follows from them, or with stars."""

from recon_cli.capabilities.export.copies import Exported, export_marked, export_suppressed
from recon_cli.capabilities.export.records import export_records

__all__ = ["Exported", "export_marked", "export_records", "export_suppressed"]
