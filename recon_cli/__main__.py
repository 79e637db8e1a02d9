"""Run ``recon`` as ``python -m recon_cli``."""

from recon_cli.cli import main

if __name__ == "__main__":
    main(prog_name="recon")
