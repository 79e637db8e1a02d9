"""The version of the program; its own module, so that every folder may know it."""

__version__ = "0.2.0"
