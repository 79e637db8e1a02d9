"""Rules of `recon check`."""
