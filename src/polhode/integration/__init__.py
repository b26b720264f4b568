"""Integration of one problem: ``Problem``, choice of method and step size, runs, events and ``Trajectory``.

Systems of interacting bodies are in ``systems``; saving and loading are in ``files``.
"""
