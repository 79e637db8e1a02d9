"""The study's program by each engine, beside ours: ``python -m benchmarks.engines``.

``records`` gives what is compared with: a truth, or the Census Bureau's own reconstruction;
``agreement`` counts what agrees with it, in a process of its own.
"""
