"""Order, run, shard and resume stages, and report their status."""
