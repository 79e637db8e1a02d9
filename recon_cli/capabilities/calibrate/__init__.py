"""A synthetic population beside the published one."""
