"""The version of the program; its own module, so that every folder may know it."""

__version__ = "0.1.0"
