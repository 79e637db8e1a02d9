"""Layouts of real publications, filled with random people: is what the tool reads the truth?

Forty and more archetypes, each after a publication that it names, share no code and no list
of words with the reader that they measure. ``python -m benchmarks.publications`` draws files.
"""
