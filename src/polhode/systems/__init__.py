"""Systems of interacting bodies: ``System``, its runs, interactions, and adapters to other programs.

Bodies that do not interact are integrated as batches; bodies with random parameters are in ``ensembles``.
"""
