"""Published files from the publisher's site: found, downloaded, checked, recorded."""

from recon_cli.stage import Command

COMMAND = Command("fetch", __name__, "Download published files from the publisher's site.")
