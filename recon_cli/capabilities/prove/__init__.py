"""Proofs about published tables that `recon_cli.reconcheck` checks without the rest of us."""
