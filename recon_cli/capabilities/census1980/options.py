"""``census1980:`` suppression by the rules of the 1980 census.

Counts of 1 or 2 by race (P1) and by race and ethnicity (P2) become zero, unmarked. The same tables
of people of voting age are withheld where the smallest race group (by default over all ages) has 1
to 14 people. Race is in seven groups (`release: pl94_1980`); further tables of your own schema are
withheld where 1 to 14 people live. Writes census1980/ (a tidy publication and its protection.yaml);
accuracy and rates, Tables 18 and 19 of the study, are in private/census1980/.

Example:
  recon protect census1980 -c rules.yaml
"""

from __future__ import annotations

from typing import Literal

from recon_cli.capabilities.protect.sections import PublishingCounts


class Census1980(PublishingCounts):
    """The section ``census1980``.

    Attributes:
        decides: Population whose smallest group decides whether tables of people of voting age are
            withheld: ``all_ages``, as in the study's code, or ``voting_age``.
    """

    decides: Literal["all_ages", "voting_age"] = "all_ages"
