"""Stages: read, call, publish. One module a stage; each takes a `Run`."""
