"""The exact flow of the free rigid body: one body, blocks of bodies, dense output, derivatives and periods.

Repeated steps are in ``stepping``.
"""
