"""Forces between bodies: all pairs, pairs within a cut-off, lists of neighbors.

The public interaction classes are in ``systems``.
"""
