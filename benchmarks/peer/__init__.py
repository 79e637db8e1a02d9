"""The study's own formulation of a tract, solved by two engines, beside ours.

``python -m benchmarks.peer`` is the run; `formulation` is the integer program; ``highs``, ``cpsat``
and ``ours`` are solved each in a process of its own, ``verdict`` is the verifier's word on each.
"""
