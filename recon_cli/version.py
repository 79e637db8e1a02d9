"""The version of the program and of its files, in a module that every folder may import."""

__version__ = "0.3.0"
#: The form of stage folders. Raised whenever a file of one gets other columns, types or meaning:
#: folders of another form are not read, but made again.
FORMAT = 6
