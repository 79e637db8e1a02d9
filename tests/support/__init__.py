"""What tests share: oracles, populations, releases, pages, processes. No tests in here."""
