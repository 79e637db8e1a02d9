"""The sections of a report, one module each; see `recon_cli.report.section.Section`."""
