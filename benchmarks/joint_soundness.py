"""Joint claims beside every town with the same counts: ``python -m benchmarks.joint_soundness``.

Every town of up to three households of 37 compositions, a vacant unit among them, is published as
people and as households, and once more also as people by their households. What `recon joint`
claims of a town has to hold in every town with the same counts; where it claims all that holds in
all of them, the signature is complete. Towns with households that are not listed may have the same
counts, too, so that not every signature can be.
"""

from __future__ import annotations

import time

from recon_cli.markdown import markdown_table
from tests.support.joint_worlds import check_towns


def main() -> None:
    """Measure and print."""
    rows = []
    for name, has_members in (("people, households", False), ("and members", True)):
        started = time.process_time()
        found = check_towns(3, has_members=has_members)
        seconds = time.process_time() - started
        for kind, each in zip(("people", "households"), found.kinds, strict=True):
            rows.append(
                [
                    name,
                    f"{found.towns:,}",
                    f"{found.signatures:,}, {found.shared:,}",
                    kind,
                    f"{each.claims:,}, {each.joint:,}",
                    f"{each.unsound:,}",
                    f"{each.complete:,}",
                    f"{seconds:.0f}",
                ]
            )
    header = ["releases", "towns", "signatures, shared", "records", "claims, only joint"]
    print(markdown_table([*header, "unsound", "complete", "CPU s"], rows, 1))  # noqa: T201


if __name__ == "__main__":
    main()
