"""The protections, a module each: its section, and the stage that the rest follows from."""
