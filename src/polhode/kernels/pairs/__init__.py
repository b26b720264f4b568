"""Forces between bodies: all pairs, pairs within a cut-off, lists of neighbors.

The interactions that users meet are in ``systems``.
"""
