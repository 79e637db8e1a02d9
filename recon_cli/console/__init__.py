"""Shared parts of commands: options, groups, output and exit."""
