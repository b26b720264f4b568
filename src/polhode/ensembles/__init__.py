"""Ensembles of independent bodies with sampled parameters: sampling, computation, stores, clusters and summaries.

The members of an ensemble do not interact. Bodies that interact form a ``System``.
"""
