"""An office's own workbooks and tables again: with what follows from them, or with stars."""

from recon_cli.export.copies import Exported, export_marked, export_suppressed

__all__ = ["Exported", "export_marked", "export_suppressed"]
