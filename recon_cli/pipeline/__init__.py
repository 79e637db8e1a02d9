"""The pipeline: stages, their order, shards, quarantine and status."""
