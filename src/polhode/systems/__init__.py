"""Bodies that act on each other: ``System``, its runs, interactions, adapters to other programs.

Bodies that only share a call are batches, and those with random parameters are in ``ensembles``.
"""
