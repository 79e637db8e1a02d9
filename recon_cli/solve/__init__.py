"""The solvers. Nothing outside this package imports ortools."""
